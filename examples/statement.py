"""
One page for the person who signs
=================================

The statement of a fit, `privacy_spent_`, names neither the data nor the date, nor who answers for
facts that the library cannot know. This example adds them: as text, and as one file of HTML that
prints on one page. The page answers: what is protected, from which change, with which odds, what is
not covered, which steps the fit took, and how anybody can check it.

Takes a second. Give the name of a folder to write the model, the statement and the page there.
"""

import math
import sys
import textwrap
from datetime import date
from html import escape
from pathlib import Path

import joblib
from sklearn.datasets import load_breast_cancer

from sklearn_pate import PATEClassifier

X, y = load_breast_cancer(return_X_y=True)
clf = PATEClassifier(epsilon=1.0, classes=[0, 1]).fit(X[:400], y[:400], X_public=X[400:])
spent = clf.privacy_spent_

# %%
# The model and its statement
# ---------------------------
# The statement holds the SHA-256 digest of the model's file, so a recipient can tell that both
# belong together.
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
digest = ""
if folder is not None:
    joblib.dump(clf.export(X[400:]), folder / "model.joblib")
    statement = spent.to_json(folder / "model.joblib")
    (folder / "statement.json").write_text(statement, encoding="utf-8")
    digest = spent.to_dict(folder / "model.joblib")["model_sha256"]

# %%
# Facts that the library cannot know
# ----------------------------------
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
CHECK = (
    "Epsilon and delta follow from the steps. To recompute them, run: python verify.py "
    "statement.json model.joblib. The file verify.py is a part of sklearn_pate; it needs Python "
    "alone and can be read in an hour. It checks the arithmetic, not the program that drew the "
    "noise, and it names the costs that it takes as stated."
)
protected, *rest = spent.summary().split("\n\n")
SECTIONS = {
    "What is protected, from which change, with which odds": [protected],
    "What was published, and what is not covered": rest,
    "The steps": spent.describe_steps(),
    "How to check this page": [CHECK, *([f"SHA-256 of the model: {digest}"] if digest else [])],
}

# %%
# As text
# -------
lines = [f"{name + ':':14}{value}" for name, value in ABOUT.items()]
for title, paragraphs in SECTIONS.items():
    lines += ["", title.upper()]
    for paragraph in paragraphs:
        lines.append(textwrap.fill(paragraph, 90, subsequent_indent="  "))
lines += ["", "TRUE, BY THE OWNER OF THE DATA", *(f"[ ] {promise}" for promise in PROMISES)]
text = "\n".join([*lines, "", "Signed: " + "_" * 40])
print(text)

# %%
# As HTML
# -------
rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in ABOUT.items())
body = "".join(
    f"<h2>{escape(title)}</h2>{''.join(f'<p>{escape(part)}</p>' for part in paragraphs)}"
    for title, paragraphs in SECTIONS.items()
)
epsilon = math.ceil(1e4 * spent.epsilon) / 1e4  # never less than the guarantee
page = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Privacy statement</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 0.8em/1.35 sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em }}
h1 {{ font-size: 1.5em; margin: 0.3em 0 }} h2 {{ font-size: 1.1em; margin: 0.8em 0 0.2em }}
p {{ margin: 0.3em 0; overflow-wrap: anywhere }} dl {{ margin: 0 }} ul {{ margin: 0.2em 0 }}
dt {{ font-weight: bold; float: left; width: 8em }} li {{ list-style: "\\2610  " }}</style>
<h1>Privacy statement: epsilon {epsilon:g}, delta {spent.delta:g}</h1><dl>{rows}</dl>
{body}<h2>True, by the owner of the data</h2>
<ul>{"".join(f"<li>{escape(promise)}</li>" for promise in PROMISES)}</ul>
<p>Signed: {"_" * 40}</p></html>
"""
if folder is not None:
    (folder / "statement.html").write_text(page, encoding="utf-8")
