"""What is measured is kept in a file, so that a run goes on where the last one stopped."""

import json

from ..shared import MissingError


class Kept:
    """Results by name, in one JSON file.

    Parameters
    ----------
    file : Path
        Read if it is there.
    """

    def __init__(self, file):
        self.file = file
        self.results = json.loads(file.read_text()) if file.exists() else {}

    def measure(self, name, function, *args):
        """Call the function and keep its result, unless there is one."""
        if name in self.results:
            return
        try:
            result = function(*args)
        except MissingError as error:
            print(f"{name}: needs {error}", flush=True)
            return
        self.results[name] = result
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in self.results.items()]
        self.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{self.file.stem}: {name}", flush=True)
