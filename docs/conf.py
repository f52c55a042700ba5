"""Sphinx configuration: `make docs` builds into docs/_build/html, without a network."""

import os
import re
import shutil
import sys
from pathlib import Path

import sklearn_pate

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))

import api_pages  # noqa: E402
import measured_pages  # noqa: E402

project = "sklearn_pate"
author = "The sklearn_pate developers"
copyright = "The sklearn_pate developers, BSD 3-Clause"
version = release = sklearn_pate.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_gallery"]
templates_path = []
html_theme = "furo"
html_title = f"sklearn_pate {release}"
html_static_path = ["_static"]
html_css_files = ["pate.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
myst_heading_anchors = 3
suppress_warnings = [
    "config.cache",  # the gallery's settings hold functions
    "ref.citation",  # a module's list of references need not be cited in its first paragraph
]

# Docstrings write names in single backquotes: a link where there is one, else code.
default_role = "py:obj"
add_module_names = False
autodoc_mock_imports = ["torch", "skorch"]  # the pages must not depend on the extra
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


api_pages.write(DOCS / "api")
measured_pages.write(DOCS / "measured")


# --- Gallery: examples that need no data run; the others are shown -------------------------------


def gather_examples():
    """Copy the examples into docs/_gallery, with a header; return those that can run here."""
    folder = DOCS / "_gallery"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(DOCS / "gallery_head.txt", folder / "README.txt")
    light = []
    for example in sorted((ROOT / "examples").glob("*.py")):
        shutil.copy(example, folder)
        text = example.read_text(encoding="utf-8")
        needs = ("SKLEARN_PATE_DATA", "import torch", "pip install mbi")
        if not any(word in text for word in needs):
            light.append(example.name)
    return light


run = gather_examples()
if os.environ.get("SKLEARN_PATE_DOCS") == "all":
    run = [path.name for path in (DOCS / "_gallery").glob("*.py")]
sphinx_gallery_conf = {
    "examples_dirs": "_gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": "|".join(rf"/{re.escape(name)}$" for name in run) or "(?!)",
    "download_all_examples": False,
    "default_thumb_file": str(DOCS / "pate.svg"),
    "show_signature": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "min_reported_time": 1,
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "reset_argv": lambda gallery_conf, script_vars: [],
}


# --- Links from names in the guide to the reference ----------------------------------------------


def _by_last_name(app, env, node, contnode):
    """Resolve `GNMax` and `rdp.exact_rdp` from any page, if only one object has that name."""
    target, domain = node["reftarget"], env.domains["py"]
    if node.get("refdomain") != "py" or not target:
        return None
    found = [
        name
        for name, entry in domain.objects.items()
        if name.endswith(f".{target}")
        and not entry.aliased  # a bare word may be a parameter that some attribute shares
        and ("." in target or entry.objtype in {"class", "exception", "function"})
    ]
    if len(found) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, contnode)


# --- Docstrings -----------------------------------------------------------------------------------


def _readable(app, what, name, obj, options, lines):
    """Spell for Sphinx what docstrings spell for readers; runs before numpydoc."""
    own = set(re.findall(r"^\s*\.\. \[(\d)\]", "\n".join(lines), re.M))
    for k, line in enumerate(lines):
        if re.match(r"\w+ : ", line):  # shape (n_features_in_,) is no reference
            line = re.sub(r"(?<=\w)_(?=[,)])", r"\_", line)
        # a function's [1]_ may be in its module's list
        lines[k] = re.sub(r"\[(\d)\]_", lambda m: m[0] if m[1] in own else m[0][:-1], line)
    for k in reversed(range(len(lines))):
        if re.match(r" {4}\w[\w, ]* : ", lines[k]):  # an entry of a Bunch, maybe without a text
            lines.insert(k, "")


def _skip_requests(app, what, name, obj, skip, options):
    """Leave out the methods that metadata routing adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _link(app, docname, source):
    """Let links to files lead to pages here; remove the empty line that ends an example."""
    text = measured_pages.linked(source[0])
    source[0] = re.sub(r"^(```pycon\n(?:(?!```).*\n)*?)\n+```$", r"\1```", text, flags=re.M)


def setup(app):
    """Connect the above."""
    app.connect("source-read", _link)
    app.connect("missing-reference", _by_last_name)
    app.connect("autodoc-process-docstring", _readable, priority=100)
    app.connect("autodoc-skip-member", _skip_requests)
