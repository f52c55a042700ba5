"""Pages of the API reference: one per public module, with every name of its `__all__`.

Files are read, not imported, so that no extra is needed.
"""

import ast
import functools
import re
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "sklearn_pate"
FILES = (
    "accounting.propose_test_release",
    "accounting.smooth_sensitivity",
    "teachers.batched",  # needs an extra
)


def modules():
    """Return the modules with an `__all__`: name to file, or to the `__init__.py` of a folder.

    A file of a folder has a page of its own if `__init__.py` does not import its names.
    """
    files = [*PACKAGE.glob("[!_]*.py"), *PACKAGE.glob("[!_]*/__init__.py")]
    named = {f.parent.name if f.name == "__init__.py" else f.stem: f for f in files}
    named |= {name: PACKAGE / f"{name.replace('.', '/')}.py" for name in FILES}
    return {name: file for name, file in sorted(named.items()) if exported(file)}


@functools.cache
def exported(file):
    """Return `__all__`."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    return []


@functools.cache
def directives(file):
    """Return how to document each name that the files of a module define at top level."""
    found = {}
    for part in file.parent.rglob("*.py") if file.name == "__init__.py" else [file]:
        text = part.read_text(encoding="utf-8")
        for comment, name in re.findall(r"^#: (.*)\n(\w+) = ", text, re.M):
            found[name] = [f".. py:data:: {name}", "", f"   {comment}"]
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = [f".. autoclass:: {node.name}", "   :members:"]
            elif isinstance(node, ast.FunctionDef):
                found[node.name] = [f".. autofunction:: {node.name}"]
    return found


def imported(file):
    """Return how to document each name that a folder exports from another folder."""
    found = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        names = {alias.name for alias in getattr(node, "names", ())} & set(exported(file))
        if isinstance(node, ast.ImportFrom) and node.level == 2 and names:
            room, *rest = node.module.split(".")
            home = PACKAGE / room / "__init__.py"
            how = directives(PACKAGE.joinpath(room, *rest).with_suffix(".py") if rest else home)
            # only one page has the object itself, so that links lead there
            is_there = names & set(exported(home))
            for name in names:
                first, *more = how[name]
                found[name] = [first, *(["   :no-index:"] if name in is_there else []), *more]
    return found


def page(name, file):
    """Return the page of one module."""
    module, names = f"sklearn_pate.{name}", exported(file)
    how = imported(file) | directives(file)
    if missing := set(names) - set(how):
        raise ValueError(
            f"{module}.__all__ has {sorted(missing)}, which none of its files defines as a class, "
            "a function or a constant under a `#:` comment"
        )
    lines = [module, "=" * len(module), "", f".. automodule:: {module}", ""]
    lines += [f".. currentmodule:: {module}", ""]
    data = {name for name in names if "py:data" in how[name][0]}  # their summary is their type's
    lines += [".. autosummary::", "", *(f"   {name}" for name in names if name not in data), ""]
    for name in names:
        lines += [*how[name], ""]
    return "\n".join(lines)


def pages():
    """Return all pages, and the index of them: name to text."""
    made = {name: page(name, file) for name, file in modules().items()}
    head = (DOCS / "api_head.txt").read_text(encoding="utf-8")
    top = [name for name in exported(PACKAGE / "__init__.py") if name != "__version__"]
    toc = ["", ".. toctree::", "   :maxdepth: 1", "", *(f"   {name}" for name in made), ""]
    return made | {"index": "\n".join([head, *(f"- `{name}`" for name in top), *toc])}


def write(folder):
    """Write the pages that changed, and remove those of modules that are gone."""
    folder.mkdir(exist_ok=True)
    made = pages()
    for old in folder.glob("*.rst"):
        if old.stem not in made:
            old.unlink()
    for name, text in made.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
