"""What all displays are made from, a fit or votes, and draw with: axes, colors, legends."""

from sklearn.utils.validation import check_is_fitted

from ..rdp.checks import check_votes

# The palette of Okabe and Ito, which color-blind readers can tell apart
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
YELLOW = "#F0E442"
SKY = "#56B4E9"


def axes_and_figure(ax):
    """Return the axes to draw on and their figure; None makes new ones."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("displays need matplotlib: pip install matplotlib") from error
        _, ax = plt.subplots(layout="constrained")
    return ax, ax.figure


def legend_above(ax, **kwargs):
    """Put the legend in one row above the axes, where it hides no bar."""
    ax.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small", **kwargs
    )


def mark_private(ax):
    """Say on the picture that it must not be published."""
    ax.set_title("private view: do not publish", loc="right", fontsize="small", color=VERMILLION)


def check_fitted(clf):
    """Return the classifier; it must be a fitted `PATEClassifier` whose teachers were asked."""
    if not hasattr(clf, "fit_votes"):
        raise TypeError(
            f"expected a fitted PATEClassifier; got {type(clf).__name__}. Of a search or pipeline, "
            "give the PATEClassifier inside, for instance search.best_estimator_"
        )
    check_is_fitted(clf, "privacy_spent_")
    if clf.privacy_spent_.n_teachers is None:
        raise ValueError(
            "records voted in a table that was released at once, so there are no queries to draw; "
            "privacy_spent_ says what it cost"
        )
    return clf


def curator_of(clf):
    """Return the private view of a fit, which must have asked at least one query."""
    curator = getattr(check_fitted(clf), "curator_", None)
    if curator is None:
        raise ValueError(
            "the curator's view is gone: it is private, and does not survive pickling or copying. "
            "Draw from the estimator itself, in the process that fitted it"
        )
    check_asked(len(curator.votes))
    return curator


def stages_of(clf):
    """Return the mechanisms of a fit, and how many queries each one asked."""
    stages = clf.aggregator_ if isinstance(clf.aggregator_, list) else [clf.aggregator_]
    n_asked = len(clf.query_indices_)
    if len(stages) == 1:
        return stages, [n_asked]
    if sum(clf.n_queries) != n_asked:
        raise ValueError(
            f"only {n_asked} of n_queries={clf.n_queries} were asked, of which stages is not known"
        )
    return stages, clf.n_queries


def check_some_votes(votes):
    """Return votes as an array; there must be at least one row."""
    votes = check_votes(votes)
    check_asked(len(votes))
    return votes


def check_asked(n_queries):
    """Refuse to draw a fit that asked nothing."""
    if n_queries == 0:
        raise ValueError("no query was asked, so there is nothing to draw; ask at least one")
