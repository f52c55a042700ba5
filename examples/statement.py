"""
One page for the person who signs
=================================

What a fit states of itself, `privacy_spent_`, names neither the data nor the date, nor who answers
for what the library cannot know. This puts them around it: as text, and as one file of HTML that
needs nothing else and prints on one page.

Takes a second. Give a file name to write the HTML.
"""

import sys
import textwrap
from datetime import date
from html import escape
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from sklearn_pate import PATEClassifier

X, y = load_breast_cancer(return_X_y=True)
clf = PATEClassifier(epsilon=1.0, classes=[0, 1]).fit(X[:400], y[:400], X_public=X[400:])
spent = clf.privacy_spent_

# %%
# What the library cannot know
# ----------------------------
# Strike what is not true, and do not sign then.
ABOUT = {
    "Model": "tumour, malignant or benign; version 1",
    "Private data": "patients of the clinic, 1995; one row each",
    "Public rows": "patients who agreed to publication",
    "Date": date.today().isoformat(),
}
PROMISES = [
    "The public rows are public, and none is a copy of a private one.",
    "Classes, types and categories come from public knowledge, not from the private table.",
    "Nobody has more rows than one, or `groups` named all rows of a person.",
    "No other fit on these rows was published, or all epsilons add up to ______.",
    "Nothing was chosen by scores on private rows.",
]
paragraphs = spent.summary().split("\n\n")

# %%
# As text
# -------
lines = [f"{name + ':':14}{value}" for name, value in ABOUT.items()]
body = [textwrap.fill(" ".join(part.split()), 90) for part in paragraphs]
boxes = [f"[ ] {promise}" for promise in PROMISES]
text = "\n".join([*lines, "", "\n\n".join(body), "", *boxes, "", "Signed: " + "_" * 40])
print(text)

# %%
# As HTML
# -------
# The table below has every field of `privacy_spent_`, for an auditor.
fields = "".join(
    f"<tr><th>{escape(name)}<td>{escape(str(value))}" for name, value in spent.to_dict().items()
)
rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in ABOUT.items())
page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Privacy statement</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font-family: sans-serif; max-width: 52em; margin: 1em auto; padding: 0 1em }}
dt {{ font-weight: bold; float: left; width: 8em }} li {{ list-style: "\\2610  " }}
table {{ border-collapse: collapse; font-size: small }}
th, td {{ border: 1px solid #888; padding: 0.2em 0.6em; text-align: left }}</style>
<h1>Privacy statement</h1><dl>{rows}</dl>
{"".join(f"<p>{escape(part)}</p>" for part in paragraphs)}
<ul>{"".join(f"<li>{escape(promise)}</li>" for promise in PROMISES)}</ul>
<p>Signed: {"_" * 40}</p>
<table>{fields}</table></html>
"""
if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(page, encoding="utf-8")
