"""Teachers that fail, in a module that workers import in no time."""

from sklearn.naive_bayes import GaussianNB


class RaisesIt(GaussianNB):
    """Raises what it was given; at what, `at` says."""

    def __init__(self, error=None, at="fit"):
        super().__init__()
        self.error, self.at = error, at

    def fit(self, X, y, sample_weight=None):
        if self.at == "fit":
            raise self.error
        return super().fit(X, y)

    def predict(self, X):
        if self.at == "predict":
            raise self.error
        return super().predict(X)

    def __sklearn_clone__(self):  # an error need not be one that can be cloned
        return type(self)(self.error, self.at)
