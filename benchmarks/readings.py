"""How dense the code of packages is: a reading beside the field's, not a target.

    python benchmarks/readings.py                      # this library
    python benchmarks/readings.py sklearn.model_selection skrub skorch dp_accounting
    python benchmarks/readings.py sklearn_pate.ledger  # one room

Tests inside packages are left out. Code lines have neither docstrings, comments nor blank lines.
"""

import ast
import importlib.util
import io
import sys
import tokenize
from pathlib import Path
from statistics import mean, median

import numpy as np

COLUMNS = ("median / p95 / max", "comments", "several at once", "conditional expr.", "local names")


def sources(package):
    """Yield the text of each module of an installed package, tests left out."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise SystemExit(f"{package} is not installed")
    if spec.submodule_search_locations is None:
        yield Path(spec.origin).read_text(encoding="utf-8")
        return
    for folder in spec.submodule_search_locations:
        for path in sorted(Path(folder).rglob("*.py")):
            is_test = "tests" in path.parts or path.stem.startswith(("test_", "conftest"))
            if not is_test and not path.stem.endswith("_test"):
                yield path.read_text(encoding="utf-8")


def docstring_lines(tree):
    """Return the numbers of the lines of all docstrings."""
    lines = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not body:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            lines.update(range(first.lineno, first.end_lineno + 1))
    return lines


def code_and_comment_lines(text, tree):
    """Return the numbers of lines that hold code, and of those that hold a comment."""
    code = set()
    comments = set()
    blank = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in blank:
            code.update(range(token.start[0], token.end[0] + 1))
    return code - docstring_lines(tree), comments


def assigns_several(node):
    """Whether an assignment sets several names to several values that are written out."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and any(isinstance(target, ast.Tuple) for target in node.targets)
    )


def local_names(function):
    """Return the names that a function assigns."""
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_"
    }


def reading(package):
    """Return the numbers of one package, as text in the order of `COLUMNS`."""
    sizes = []
    names = []
    n_code = n_comments = n_assignments = n_several = n_statements = n_conditional = 0
    for text in sources(package):
        tree = ast.parse(text)
        code, comments = code_and_comment_lines(text, tree)
        n_code += len(code)
        n_comments += len(comments)
        for node in ast.walk(tree):
            n_statements += isinstance(node, ast.stmt) and node.lineno in code
            n_conditional += isinstance(node, ast.IfExp)
            n_assignments += isinstance(node, ast.Assign)
            n_several += assigns_several(node)
            if isinstance(node, ast.FunctionDef):
                sizes.append(len(code & set(range(node.lineno, node.end_lineno + 1))))
                names += [len(name) for name in local_names(node)]
    return (
        f"{median(sizes):.0f} / {np.percentile(sizes, 95):.0f} / {max(sizes)}",
        f"{100 * n_comments / n_code:.0f}",
        f"{100 * n_several / n_assignments:.1f} %",
        f"{100 * n_conditional / n_statements:.1f}",
        f"{mean(names):.1f}",
    )


def main(packages):
    """Print a table, one package a row."""
    print("|", " | ".join(("package", *COLUMNS)), "|")
    print("|" + "---|" * (len(COLUMNS) + 1))
    for package in packages or ["sklearn_pate"]:
        print("|", " | ".join((package, *reading(package))), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
