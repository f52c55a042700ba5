"""A table with a title, as HTML."""

from html import escape

_STYLE = """
.sk-pate-card { border-collapse: collapse; font-family: sans-serif; max-width: 52em; }
.sk-pate-card caption { text-align: left; padding: 0.4em 0; font-weight: bold; color: inherit; }
.sk-pate-card th, .sk-pate-card td {
  border: 1px dashed #8886; padding: 0.3em 0.6em; text-align: left; vertical-align: top;
  color: inherit; background: #8881; white-space: pre-line;
}
"""


def card_of(title, lines):
    """Return HTML that needs nothing else, for light and dark pages.

    Parameters
    ----------
    title : str
        Its caption.
    lines : list of (str, str)
        A name, and what is to be said of it.

    Returns
    -------
    str
    """
    rows = [
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(words)}</td></tr>"
        for name, words in lines
    ]
    return (
        f"<div><style>{_STYLE}</style><table class='sk-pate-card'>"
        f"<caption>{escape(title)}</caption>{''.join(rows)}</table></div>"
    )
