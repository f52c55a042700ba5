"""What an error says of privacy, in one place, and what is kept of a fit that failed."""

import contextlib

from ..accountant.words import text_rounded_up

#: What each note begins with: an outer block says more than an inner one, and takes its place.
_PRIVACY = "Privacy: "


class Paid:
    """What a fit has paid for so far.

    Attributes
    ----------
    spent : PrivacySpent or None
        As it was recorded, or may have been; None if nothing was.
    entry : object
        What the ledger returned of it.
    synthesis : Synthesis or None
        What drew public rows; None before.
    has_begun : bool
        Whether the estimator holds what is released, and no more of an earlier fit.
    """

    def __init__(self):
        self.spent = None
        self.entry = None
        self.synthesis = None
        self.has_begun = False


@contextlib.contextmanager
def keeping(estimator):
    """Yield what a block has paid for; an error says what was spent, and loses nothing paid for.

    It gets a note and, if something was spent, the attribute `privacy_spent`.

    Parameters
    ----------
    estimator : PATEClassifier or PrivateSearch
        Gets the rows that were drawn, if nothing that came after them is published.
    """
    paid = Paid()
    try:
        yield paid
    except BaseException as error:
        spent = estimator.privacy_spent_ if paid.has_begun else paid.spent
        if spent is not None:
            error.privacy_spent = spent
        if paid.synthesis is not None and not paid.has_begun:
            forget(estimator)  # what an earlier fit left would not go with the rows
            estimator.X_synthetic_ = paid.synthesis.rows
            paid.synthesis.note()
        own = [note for note in getattr(error, "__notes__", ()) if not note.startswith(_PRIVACY)]
        error.__notes__ = [*own, _PRIVACY + _told(spent, paid)]
        raise


def _told(spent, paid):
    """Return what to say of a failed fit."""
    if spent is None:
        return "nothing was spent."
    cost = f"epsilon={text_rounded_up(spent.epsilon)} is spent"
    if paid.has_begun:
        return f"{cost}; what was released until then is kept, see privacy_spent_."
    if paid.synthesis is None:
        return f"{cost}, and nothing of it was kept; a new fit pays anew."
    return (
        f"{cost}. The rows that were drawn are X_synthetic_, and public. With synthesizer=None, "
        "fit(X, y, X_public=X_synthetic_) uses them again; its privacy_spent_ says whether it "
        "covers them."
    )


def forget(estimator):
    """Remove all that an earlier fit has left."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
