"""Public data on its way through scikit-learn: whole through searches, first into transformers."""

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._sklearn import HasMethods, _fit_context
from .isolation import fresh_seed, own_clone, own_generators, seeded, set_seeds, unfitted

__all__ = ["FitOnPublic", "PublicData", "public_rows"]


class PublicData(tuple):
    """Public rows that searches and cross-validation leave whole.

    When scikit-learn splits `X`, it silently splits every extra array with as many rows as well,
    and an estimator cannot tell that this happened. A tuple of one element has one row, so it is
    left alone. In pipelines, ``transform_input=["X_public"]`` transforms what it holds.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame with n_public rows
        Public, unlabelled rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_pate import PATEClassifier, PublicData
    >>> X, y = make_classification(2000, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), classes=[0, 1])
    >>> params = {"X_public": PublicData(X[1000:])}  # as many rows as X[:1000], and left whole
    >>> len(cross_val_score(clf, X[:1000], y[:1000], params=params, cv=2))
    2
    """

    def __new__(cls, X):
        """Wrap `X`."""
        return super().__new__(cls, (public_rows(X),))

    def __getnewargs__(self):
        return tuple(self)  # the arguments of __new__; those of a tuple would wrap it twice

    def __repr__(self):
        return f"PublicData({type(self[0]).__name__} of shape {getattr(self[0], 'shape', '?')})"


def public_rows(X_public):
    """Return the rows that `PublicData`, or the plain tuple a Pipeline makes of it, holds.

    Parameters
    ----------
    X_public : PublicData, tuple of length 1, or array-like
        As the user gave it.

    Returns
    -------
    array-like
        The rows.

    Examples
    --------
    >>> from sklearn_pate.public import PublicData, public_rows
    >>> public_rows(PublicData([[1.0], [2.0]]))
    [[1.0], [2.0]]
    """
    return X_public[0] if isinstance(X_public, tuple) and len(X_public) == 1 else X_public


def _transformer_has(method):
    def check(self):
        getattr(getattr(self, "transformer_", self.transformer), method)
        return True

    return check


class FitOnPublic(TransformerMixin, BaseEstimator):
    """Fit a transformer on public rows instead of private ones.

    In front of a `PATEClassifier`, a scaler that is fitted on `X` sees every private record and is
    outside the guarantee. This one sees `X_public` alone.

    Parameters
    ----------
    transformer : transformer
        What is fitted on `X_public`, without labels. It must transform each row by itself.

    Attributes
    ----------
    transformer_ : transformer
        The fitted clone. Each of its `random_state` parameters that was not a number has been set
        to a number drawn from the operating system.
    n_features_in_ : int
        Number of features, if the transformer has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the transformer has them.

    See Also
    --------
    sklearn.frozen.FrozenEstimator : For a transformer that is fitted already.

    Notes
    -----
    `fit` asks for `X_public` by itself when metadata routing is enabled. Without routing,
    ``step__X_public=`` reaches later steps untransformed: do not use it.

    While the transformer is fitted, the global generators of numpy, Python and torch start from
    that seed, and are put back afterwards: `numpy.random.seed` does not make the fit repeatable,
    the transformer's own `random_state` does. What it runs with joblib runs one after the other.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_pate import FitOnPublic, PATEClassifier
    >>> X, y = make_classification(3000, class_sep=2, random_state=0)
    >>> steps = [
    ...     ("scale", FitOnPublic(StandardScaler())),
    ...     ("pate", PATEClassifier(LogisticRegression(), classes=[0, 1])),
    ... ]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     pipe = Pipeline(steps, transform_input=["X_public"])
    ...     pipe = pipe.fit(X[:2000], y[:2000], X_public=X[2000:2500])
    >>> pipe.predict(X[2500:]).shape
    (500,)
    """

    # Requested by default, so that metadata routing needs no call from the user
    __metadata_request__fit = {"X_public": True}

    _parameter_constraints: dict = {"transformer": [HasMethods(["fit", "transform"])]}

    def __init__(self, transformer):
        self.transformer = transformer

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, X_public=None):
        """Fit the transformer on `X_public`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private rows: not looked at.
        y : object, default=None
            Not looked at.
        X_public : array-like or PublicData with n_public rows
            Public rows. Required.

        Returns
        -------
        FitOnPublic
            Itself, fitted.

        Raises
        ------
        ValueError
            If `X_public` is missing.
        """
        if X_public is None:
            raise ValueError(
                "FitOnPublic got no X_public: public rows are what it is fitted on. In a Pipeline, "
                "enable metadata routing, sklearn.set_config(enable_metadata_routing=True), and "
                "give Pipeline(..., transform_input=['X_public']).fit(X, y, X_public=...). Before "
                "a PATEClassifier with a synthesizer it cannot work, as rows are drawn later: give "
                "the transformer to those who vote, ReverseNeighbors(transformer) or "
                "make_pipeline(transformer, model) for teachers"
            )
        # As in a fit of `PATEClassifier`: what is published must share no generator
        seed = fresh_seed()
        with seeded(seed):
            transformer = own_clone(self.transformer, seed)
            set_seeds(transformer, seed, only_missing=True)
            self.transformer_ = own_generators(transformer.fit(public_rows(X_public)))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.transformer_, name):
                setattr(self, name, getattr(self.transformer_, name))
        return self

    def transform(self, X):
        """Transform rows, each by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            Private or public rows.

        Returns
        -------
        array-like with n_samples rows
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.transform(X)

    @available_if(_transformer_has("inverse_transform"))
    def inverse_transform(self, X):
        """Undo `transform`, if the transformer can.

        Parameters
        ----------
        X : array-like with n_samples rows
            Transformed rows.

        Returns
        -------
        array-like with n_samples rows
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.inverse_transform(X)

    @available_if(_transformer_has("get_feature_names_out"))
    def get_feature_names_out(self, input_features=None):
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns given.

        Returns
        -------
        ndarray of str
            As the transformer's.
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "transformer_")

    def __getstate__(self):
        # Whatever the given transformer was fitted on before stays behind
        state = own_generators(dict(super().__getstate__()))
        return state | {"transformer": unfitted(state["transformer"])}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.transformer).input_tags
        tags.target_tags.required = False
        return tags
