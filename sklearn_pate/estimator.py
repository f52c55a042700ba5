"""Base class of both estimators: parameters, fits, students and scikit-learn's protocols."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ._sklearn import (
    CheckedEstimator,
    HasMethods,
    Interval,
    StrOptions,
    _fit_context,
)
from .aggregators import Mechanism, TableMechanism
from .encoding.dtypes import RowForm
from .encoding.targets import ClassTarget, Target
from .fitting import first_release, run, trials
from .fitting.checks import check_features
from .fitting.export import Saved, handed_over, libraries_of, readable_rows
from .fitting.inputs import (
    STRATEGIES,
    are_same_rows,
    as_list,
    check_inputs,
    check_labelled_rows,
    check_votes_and_rows,
    strategy_of,
)
from .fitting.methods import make_method
from .fitting.run import keeping
from .fitting.seeds import seed_streams
from .fitting.sites import records_of
from .methods import MethodChoice
from .methods.base import Method
from .neighbors import RowVectorizer
from .public import indexable_rows, public_rows
from .releases.published import published_by, student_of, warn_of_one_class, warn_of_shift
from .runtime.copies import copied_generators, unfitted
from .runtime.isolation import next_fit_number
from .students import fit_student
from .synthesis import ClassSumsSynthesizer, Schema

if TYPE_CHECKING:
    from ._typing import Estimator, Rows
    from .accounting.plan import Plan
    from .accounting.spent import PrivacySpent
    from .releases.votes import Votes

#: Entry of `privacy_spent_.not_covered` for rows other than the synthetic ones.
_OTHER_ROWS = "the rows given to fit_student, which may be part of the student"

#: Decorator that runs a method with numpy's default error handling, whatever `numpy.seterr` set.
usual_floats = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


class PATEEstimator(CheckedEstimator):
    """Base class of `PATEClassifier` and `PATERegressor`."""

    #: The kind of target, which does not depend on parameters or data.
    target_type: type[Target] = ClassTarget

    # Set by fits
    privacy_spent_: PrivacySpent
    student_: Estimator
    aggregator_: Any
    n_features_in_: int
    feature_names_in_: np.ndarray
    n_teachers_: int
    public_labels_: np.ndarray
    public_soft_labels_: np.ndarray | None
    query_indices_: np.ndarray
    X_synthetic_: Rows
    released_: list[Any]
    table_: Any
    curator_: Any

    #: A `releases.prefix.Prefix` of an interrupted fit, for `warm_start`.
    _prefix = None

    #: The form of the public rows of the last fit.
    _form = RowForm("", {}, False)

    # Requested by default, so that users need not call set_fit_request for metadata routing
    __metadata_request__fit = {"X_public": True, "groups": True}
    _parameter_constraints: dict = {
        "base_estimator": [HasMethods(["fit", "predict"]), list, Method, None],
        "method": [StrOptions({"auto", "neighbors", "sums", "teachers"}), Method],
        "n_teachers": [Interval(Integral, 1, None, closed="left"), None],
        "aggregator": [Mechanism, TableMechanism, list, None],
        "student": [HasMethods(["fit", "predict"]), None],
        "n_queries": [Interval(Integral, 1, None, closed="left"), list, None],
        "query_strategy": [StrOptions(set(STRATEGIES)), HasMethods(["select"])],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "accounting": [StrOptions({"data_independent", "ptr"})],
        "unit": [StrOptions({"record", "group"})],
        "partition": [StrOptions({"random", "hash", "predefined"}), HasMethods(["assign"])],
        "keep_teachers": ["boolean"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "secure": ["boolean"],
        "memory": [str, os.PathLike, HasMethods(["cache"]), None],
        "ledger": [HasMethods(["check", "record"]), None],
        "on_bad_plan": [StrOptions({"raise", "warn"})],
        "synthesizer": [HasMethods(["declare", "gather", "publish", "draw"]), None],
        "verbose": ["verbose"],
        "schema": [dict, list, tuple, Schema, None],
        "releases": [list, None],
        "warm_start": ["boolean"],
    }

    @usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows,
        y: ArrayLike | None,
        X_public: Rows = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Collect votes, release noisy labels, and train the student on them.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Sites with n_samples rows
            Private features. They are passed to the teachers unchanged, including text columns,
            categoricals and arrays with more than two axes. A `numpy.memmap` is read one part at a
            time. Votes depend on the dtypes and categories of a DataFrame, so these must be equal
            to the dtypes and categories of `X_public`. With `teachers.Sites`, the data of each
            site are loaded and counted where they are.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Private labels: strings, integers or booleans. For a regressor, finite numbers. None
            with `Sites`. Each column is a target; their number is public. One fit learns all
            targets, and its noise is for all together. A teacher votes for each target.
        X_public : array-like, sparse matrix, DataFrame or PublicData with n_public rows
            Public, unlabelled points with the same features as `X`. The fit labels them, and trains
            the student on these rows alone. If None, synthetic rows are sampled instead; see
            `synthesizer`. In searches and cross-validation, pass `PublicData(X_public)`, because
            they would split an array with the same number of rows as `X`.
        groups : array-like of shape (n_samples,), default=None
            One identifier per record: the identifier of its person or other group or, with
            ``partition="predefined"``, the name of its teacher.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the records, which are passed to teachers with a `sample_weight` parameter of
            `fit`. Where records vote, or a synthesizer counts them, they are the weights of the
            records in the counts, and must be in [0, 1]. Each weight must depend on its own record
            alone, or the guarantee does not hold.

        Returns
        -------
        PATEClassifier or PATERegressor
            Itself, fitted.

        Raises
        ------
        BadPlanError, BudgetExceededError, TeacherError, PrivacyTestError, StudentError
            See the class.
        ValueError
            If lengths or features are inconsistent, parameters are out of range, or `X_public` is
            missing although `X` is `Sites` with one teacher each.
        """
        fit_number = next_fit_number()
        given: dict[str, Any] = {
            "X_public": X_public,
            "groups": groups,
            "sample_weight": sample_weight,
        }
        with keeping(self, self.ledger) as account:
            X = records_of(self, X, y=y, **given)
            given["fit_number"] = fit_number
            with first_release.inputs_of_rest(self, account, X, y, **given) as inputs:
                run.fit(inputs, account)
        return self

    @usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def plan(
        self,
        X: Rows,
        y: ArrayLike | None,
        X_public: Rows = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        y_public: ArrayLike | None = None,
    ) -> Plan:
        """Check the input of `fit` and plan its queries and cost, without spending anything.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.
        y_public : array-like of shape (n_public,), default=None
            Labels or numbers of the public rows, which are public knowledge; `fit` does not use
            them. If given, the plan has `trials`: a forecast of the accuracy (R2 for numbers, and
            AUC for two classes) at a quarter, a half, one, two and four times `epsilon`, at no
            privacy cost. Some of the public rows play the private records, and others are scored,
            at the same ratio of noise to records, in 25 fits on at most 3,000 records. These take
            about ten times as long as a fit, and use `class_weight`, but no groups or
            `sample_weight`. The forecast is usually pessimistic, as a fit has more records, and
            most of all for class sums of numbers. Teachers, and mechanisms with a set noise, are
            not tried.

        Returns
        -------
        Plan
            Its text contains the method, the number of labels for each class, the expected number
            of correct labels, and possible improvements. Its `stages` are the aggregators, with
            their noise set, and the number of queries of each. Its `spent` is a forecast of
            `privacy_spent_`. A plan depends on public numbers alone.

        Raises
        ------
        BudgetExceededError, ValueError
            As in `fit`. Whether models are tried on texts depends on which undeclared columns hold
            mostly texts.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> clf = PATEClassifier(epsilon=1.0, n_queries=30, classes=[0, 1])
        >>> plan = clf.plan(X[:2000], y[:2000], X_public=X[2000:])
        >>> [(str(aggregator), n_queries) for aggregator, n_queries in plan.stages]
        [('GNMax(sigma=25.2...)', 30)]

        If the labels of the public rows are known, which epsilon suffices?

        >>> clf = PATEClassifier(epsilon=1.0, classes=[0, 1], random_state=0)
        >>> plan = clf.plan(X[:2000], y[:2000], X_public=X[2000:], y_public=y[2000:])
        >>> [trial.epsilon for trial in plan.trials]
        [0.25, 0.5, 1.0, 2.0, 4.0]
        >>> plan.trials[0].score.mean < plan.trials[-1].score.mean
        True
        """
        given: dict[str, Any] = {
            "X_public": X_public,
            "groups": groups,
            "sample_weight": sample_weight,
        }
        X = records_of(self, X, y=y, **given)
        if y_public is None:
            return first_release.plan(self, X, y, **given)
        labels = trials.check_labels(self, X_public, y_public)
        plan = first_release.plan(self, X, y, **given)
        return trials.with_trials(plan, self, X, y, labels=labels, **given)

    @usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def poll(
        self,
        X: Rows,
        y: ArrayLike | None,
        X_public: Rows = None,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Votes:
        """Gather the private votes on all public rows, for `fit_votes`.

        The training of teachers may take long. With their votes, aggregators, students and query
        strategies can be compared without training teachers again. If `aggregator` is a
        `SoftVote`, the teachers return probabilities at its temperature instead of votes. Without
        public rows, synthetic rows are published first, at a privacy cost.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.

        Returns
        -------
        Votes
            Private votes without noise, like those in `curator_`. They cannot be pickled.

        Raises
        ------
        BadPlanError, BudgetExceededError
            As in `fit`, if synthetic rows must be sampled. Where records vote,
            `BudgetExceededError` is also raised with public rows.
        TeacherError, ValueError
            As in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PATEClassifier(GaussianNB(), n_teachers=10, epsilon=20, classes=[0, 1, 2])
        >>> votes = clf.poll(X[::2], y[::2], X_public=X[1::2])
        >>> clf.fit_votes(votes, X[1::2]).n_teachers_
        10
        """
        with keeping(self, self.ledger) as account:
            given = {"X_public": X_public, "groups": groups, "sample_weight": sample_weight}
            X = records_of(self, X, y=y, **given)
            known = first_release.declared(self, X, y)
            if known is None:
                raise ValueError(
                    "poll publishes no classes or bounds, which the votes depend on: declare "
                    "them, classes=[all labels that may occur] or bounds=(low, high), or call fit"
                )
            inputs = check_inputs(known, X, y, X_public, groups, sample_weight)
            return run.poll(inputs, account)

    @usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_votes(self, votes: Votes | ArrayLike, X_public: Rows = None) -> Self:
        """Release labels from votes and train the student, without training teachers.

        The privacy losses of all calls with the same private data add up. A choice among candidates
        also has a privacy loss, unless it uses only public data or released labels. The published
        cost must include all labels that the choice used. Experiments on the votes have no privacy
        loss if none of their results is published. Never publish two results with the same
        `random_state`, because they share noise.

        Parameters
        ----------
        votes : Votes or array-like of shape (n_public, n_classes)
            Result of `poll` or, with `PATEClassifier` only, counts of any teachers' votes on each
            row of `X_public`. Counts are whole numbers, and each row sums to the number of
            teachers. With counts, `privacy_spent_` protects the votes of one teacher, and `classes`
            defaults to 0..n_classes-1. The number of teachers, the partition and the unit are taken
            from the votes, not from the parameters. Where records vote, cells and transformer are
            also taken from the votes. A method with another `relation`, `n_neighbors` or
            `extra_columns` raises an error, and so does ``unit="group"`` if the votes protect
            another unit.
        X_public : array-like or PublicData with n_public rows, default=None
            The rows of the votes, in the same order. None if they are synthetic: the votes then
            contain the rows, and `privacy_spent_` of each call includes their cost.

        Returns
        -------
        PATEClassifier or PATERegressor
            Itself, fitted.

        Raises
        ------
        BadPlanError, BudgetExceededError, PrivacyTestError, StudentError
            As in `fit`.
        ValueError
            If the votes do not match `X_public`, `classes`, `method`, `unit` or the aggregator, or
            if the parameter `releases` is set.
        """
        fit_number = next_fit_number()
        with keeping(self, self.ledger) as account:
            inputs, votes = check_votes_and_rows(self, votes, X_public)
            run.fit(dataclasses.replace(inputs, fit_number=fit_number), account, votes)
        return self

    @usual_floats
    def fit_student(self, X_public: Rows = None, student: Estimator = None) -> Self:
        """Train another student on the labels already released, at no privacy cost.

        Where records vote, the released table labels any row. So `X_public` may be other public
        rows, for instance newer ones. `public_labels_`, `public_soft_labels_` and
        `query_indices_` are then replaced by the values for these rows.

        Parameters
        ----------
        X_public : array-like or PublicData with n_public rows, default=None
            The public data given to `fit`, with the rows in the same order: labels are matched by
            position. Where records vote, any public rows with the same features. None uses the
            synthetic rows, `X_synthetic_`.
        student : classifier or regressor, default=None
            The unfitted student. None uses the parameter `student` or, if it is None, the default
            student of the method.

        Returns
        -------
        PATEClassifier or PATERegressor
            Itself, with a new `student_`.

        Raises
        ------
        NotFittedError
            If no labels were released yet.
        StudentError
            If this student cannot be trained on the labels.
        ValueError
            If `X_public` has other features than in `fit`, or if it is None and there are no
            synthetic rows. Where teachers voted, if `X_public` has another number of rows than in
            `fit`. Where records vote, if its rows cannot be transformed.

        Warns
        -----
        UserWarning
            If teachers voted, and `X_public` differs from the rows given to `fit` in at least one
            of up to 100 compared rows. If the released labels are of one class, up to noise.
        PublicRowsWarning
            If the published votes raise an alarm about `X_public`; see `table_.shift_from`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = PATEClassifier(GaussianNB(), n_teachers=10, epsilon=20, classes=[0, 1, 2])
        >>> clf = clf.fit(X[::2], y[::2], X_public=X[1::2])
        >>> clf.fit_student(X[1::2], KNeighborsClassifier(3)).student_
        KNeighborsClassifier(n_neighbors=3)
        """
        check_is_fitted(self, "public_labels_")
        X_public = getattr(self, "X_synthetic_", None) if X_public is None else X_public
        if X_public is None:
            raise ValueError("X_public is missing: pass the public rows that were given to fit")
        X_public = indexable_rows(public_rows(X_public), "X_public")
        check_features(self, X_public, "X_public")
        X_public = self._form.like(X_public)
        published, shifts = published_by(self), []
        by_records = published.table is not None
        if by_records:
            shifts = [part.read(X_public) for part in published.parts]
        else:
            check_labelled_rows(X_public, len(self.public_labels_), self._queried_rows_digest)
        if student is None:
            choice = MethodChoice("neighbors" if by_records else "teachers", "labels were released")
            student = published.student(self, make_method(self, choice))
        for each in as_list(student):
            self.target_type.check_predicts("student", each)
        seed = seed_streams(self.random_state, self.secure)["student"]
        self.student_ = fit_student(student, X_public, published, seed)
        spent = published.spent
        not_covered = [part for part in spent.not_covered if part != _OTHER_ROWS]
        are_own = are_same_rows(X_public, getattr(self, "X_synthetic_", None))
        if spent.n_synthetic and not are_own:
            not_covered.append(_OTHER_ROWS)
        published.spent = dataclasses.replace(spent, not_covered=tuple(not_covered))
        published.show(self)
        for part, shift in zip(published.parts, shifts, strict=by_records):
            warn_of_shift(part, shift)
        for part in published.parts:
            warn_of_one_class(part)
        return self

    def export(self, X: Rows = None) -> Estimator:
        """Return the published student as a model that does not need this library.

        The model is a copy that predicts labels. It consists of objects of scikit-learn and of the
        student's libraries. Two attributes describe it: `privacy_spent_`, the dict of
        `PrivacySpent.to_dict`, and `libraries_`, a dict with the versions of the libraries that it
        requires. The `classes_` of a classifier are the labels on which the student was trained: a
        label that was never released has no column in `predict_proba`. After a fit on polars, the
        export of a default student reads pandas: call ``predict(X.to_pandas())``.

        Parameters
        ----------
        X : array-like or PublicData with n_samples rows, default=None
            Public rows, on which the export must predict the same as this estimator. None uses the
            synthetic rows. Without any rows, a classifier is compared on random numbers, and the
            last step of its student must decode predictions by `classes_`, like most classifiers
            of scikit-learn. Other classifiers require rows.

        Returns
        -------
        classifier or regressor
            A model with `predict`, and for classification `classes_`. A classifier also has
            `predict_proba` if the student has it and predicts the label of the largest probability,
            or decodes its labels by `classes_`.

        Raises
        ------
        NotFittedError
            If there is no student yet.
        ValueError
            If the student cannot be pickled. If it contains parts of this library without an
            equivalent in scikit-learn, or classes of the running program or notebook; the message
            names them. If rows are required but missing, or if predictions differ.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> y = load_iris().target_names[y]
        >>> clf = PATEClassifier(GaussianNB(), n_teachers=10, epsilon=20, classes=sorted(set(y)))
        >>> model = clf.fit(X[::2], y[::2], X_public=X[1::2]).export(X[1::2])
        >>> model
        GaussianNB()
        >>> bool((model.predict(X) == clf.predict(X)).all())
        True
        >>> model.privacy_spent_["delta"]
        1e-05
        """
        check_is_fitted(self)
        X = getattr(self, "X_synthetic_", None) if X is None else public_rows(X)
        X = readable_rows(self, X)
        model = handed_over(self, X)
        has_names = hasattr(self, "feature_names_in_")
        frames = [pd.DataFrame() if X is None else X] if has_names else []
        model.libraries_ = libraries_of(model, rows=frames)
        model.privacy_spent_ = self.privacy_spent_.to_dict()
        return model

    # --- check -------------------------------------------------------------------------------

    def _declared_target(self) -> Target | None:
        """Return the target that the parameters declare; None if it is read from the labels."""
        raise NotImplementedError

    @property
    def _fitted_target(self) -> Target:
        """The target of a fitted estimator."""
        return self.target_type.of_values(getattr(self, self.target_type.fitted_attribute))

    # --- predictions of the student ----------------------------------------------------------

    def _ask(self, model: str, method: str, X: Rows) -> Any:
        """Call a method of a published model; errors about arrays get a remedy."""
        check_is_fitted(self)
        X = indexable_rows(X, "X")
        check_features(self, X, "X")
        X = self._form.like(X)
        try:
            return getattr(getattr(self, model), method)(X)
        except Exception as error:
            if not self._form.library or hasattr(X, "columns"):
                raise
            rows = "model.X_synthetic_" if hasattr(self, "X_synthetic_") else "X_public"
            code = f"X = pd.DataFrame(X, columns={rows}.columns).astype({rows}.dtypes)"
            if self._form.library == "polars":
                code = f'X = pl.DataFrame(X.tolist(), schema={rows}.schema, orient="row")'
            raise ValueError(
                "this estimator was fitted on a DataFrame, so it requires a DataFrame; got "
                f"{type(X).__name__}, which lacks the dtypes of the columns. To convert it:\n"
                f"    {code}"
            ) from error

    @property
    def _student(self) -> Estimator:
        """The unfitted student."""
        return student_of(self, make_method(self))

    # --- scikit-learn's protocols ------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "student_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        first = RowVectorizer()  # the first step of default methods
        if self.base_estimator is not None or isinstance(self.method, Method):
            first = next(iter(make_method(self).classifiers()), first)
        tags.input_tags = get_tags(first).input_tags
        tags.target_tags.multi_output = self._accepts_several_targets()
        tags.input_tags.pairwise = False  # a square kernel matrix cannot be split among teachers
        if self.synthesizer is not None:
            tags.input_tags.sparse = False
        return tags

    def _accepts_several_targets(self) -> bool:
        """Return whether `y` may have several columns, as far as the parameters show."""
        with contextlib.suppress(TypeError, ValueError):
            declared = self._declared_target()
            if declared is not None and declared.n_targets == 1:
                return False
            method = make_method(self)
            synthesizer = self.synthesizer
            has_sums = synthesizer is None or isinstance(synthesizer, ClassSumsSynthesizer)
            method.release.check_several(self, method, strategy_of(self))
            return method.accepts_several_targets and has_sums and not self.releases
        return False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a pickle may contain.

        The state omits three private parts: `curator_`, earlier fits of estimators that are
        parameters, and the seed after noise was drawn from it.
        """
        state = dict(super().__getstate__())
        state.pop("curator_", None)
        state = copied_generators(state)
        for name in [*self._get_param_names(), "aggregator_"]:
            if name in state:
                state[name] = unfitted(state[name])
        if state.pop("_seed_used", False):
            state["random_state"] = None
        if "student_" in state:  # it can predict if the libraries of the other objects are missing
            spare = {"base_estimator", "method", "student", "releases", "table_"} & set(state)
            state |= {name: Saved.of(state[name]) for name in spare}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = {name: part.load() for name, part in state.items() if isinstance(part, Saved)}
        super().__setstate__(state | saved)
