"""HTML of cards, for notebooks. A card is a table with a caption and a list of remarks."""

from collections.abc import Iterable
from html import escape

_STYLE = """
.sk-pate-card {
  color: var(--sg-text-color, var(--theme-code-foreground, var(--jp-content-font-color1, inherit)));
  font-family: sans-serif; max-width: 52em;
}
.sk-pate-card table { border-collapse: collapse; background: #8881; width: 100%; }
.sk-pate-card caption { text-align: left; padding: 0.4em 0; font-weight: bold; color: inherit; }
.sk-pate-card th, .sk-pate-card td {
  border: 1px dashed #8886; padding: 0.3em 0.6em; text-align: left; vertical-align: top;
  color: inherit; background: transparent; white-space: pre-line;
}
.sk-pate-card li { border-left: 4px solid #e69f00; margin: 0.3em 0; padding: 0.3em 0.6em; }
"""


def card_of(title: str, lines: Iterable[tuple[str, str]], remarks: Iterable[str] = ()) -> str:
    """Return a card as self-contained HTML, for light and dark pages.

    Parameters
    ----------
    title : str
        Caption of the card.
    lines : list of (str, str)
        Name and description of each row.
    remarks : list of str, default=()
        Entries of a list below the rows.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.card import card_of
    >>> "<caption>A title</caption>" in card_of("A title", [("epsilon", "1")])
    True
    """
    rows = [
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(words)}</td></tr>"
        for name, words in lines
    ]
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return (
        f"<div class='sk-pate-card'><style>{_STYLE}</style><table>"
        f"<caption>{escape(title)}</caption>{''.join(rows)}</table>"
        f"{f'<ul>{items}</ul>' if items else ''}</div>"
    )
