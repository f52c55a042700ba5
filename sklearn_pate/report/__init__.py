"""Text for users: plans, statements, cards, and the sentences of findings.

This package formats numbers and codes, and computes no cost. It does not import `accounting` at run
time, because classes of `accounting` call it in `__str__`, `summary` and `_repr_html_`.

- `report.plan`: a plan, as text for a terminal and as HTML for a notebook;
- `report.statement`: `privacy_spent_` and its forecast, as paragraphs and as HTML;
- `report.steps`: the steps of a statement, as sentences;
- `report.findings`: a sentence with a remedy for each code of `accounting.findings`;
- `report.relations`: neighboring data sets and protected units in words;
- `report.card`: the HTML of a card; `report.formats`: numbers as text.
"""
