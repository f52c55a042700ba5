"""What displays are made from: a fitted classifier, or votes."""

from sklearn.utils.validation import check_is_fitted

from ..rdp.checks import check_votes


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
            "records voted in a table that was released at once, for one price: no teachers were "
            "asked, so there are neither queries nor margins to draw. privacy_spent_ says what it "
            "cost, and public_soft_labels_ holds the rates"
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
    stages = clf.aggregator_
    n_asked = len(clf.query_indices_)
    if not isinstance(stages, list):
        return [stages], [n_asked]
    if len(stages) == 1:
        return stages, [n_asked]
    if sum(clf.n_queries) != n_asked:
        raise ValueError(
            f"{n_asked} of the queries n_queries={clf.n_queries} were asked, and which stages "
            "asked fewer is not known"
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
