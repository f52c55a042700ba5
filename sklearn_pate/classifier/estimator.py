"""PATEClassifier: private teachers vote, noise hides each vote, a public student learns labels."""

import contextlib
import dataclasses
import os
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    _fit_context,
    _num_samples,
    _safe_indexing,
    _VisualBlock,
)
from ..accountant import (
    Plan,
    PrivacySpent,
    next_fit_number,
    no_cost,
    plan_queries,
    plan_table,
)
from ..accountant.spent import text_rounded_up
from ..accountant.stages import soft_stage
from ..aggregators import GNMax, Mechanism, TableMechanism
from ..aggregators.table import rehearse_table
from ..electorate import (
    Ballots,
    Electorate,
    PrivateData,
    TableBallots,
    TableElectorate,
    Votes,
    check_classifier,
)
from ..exceptions import BudgetExceededError, PrivacyTestError
from ..isolation import Quiet, own_generators, unfitted
from ..memory import digest, kept_seed, private_memory
from ..neighbors import RowVectorizer
from ..public import are_all_equal, public_rows, warn_if_private
from ..queries import DiversityQueries, RandomQueries, UncertaintyQueries, count_rounds
from ..rdp.facts import facts_of
from ..synthesis import Schema
from ..teachers import Sites
from .asked import are_same_rows, check_labelled_rows, rows_digest
from .checks import (
    check_data,
    check_defaults,
    check_features,
    check_not_swapped,
    check_predicted,
    check_rounds,
    check_votes_given,
    first_names,
    given_rows,
    indexable_rows,
)
from .choice import Choice
from .drawn import DRAWN_BEFORE, note_drawn, recalled
from .forecast import forecast, refuse_hopeless, warn_of_plan
from .handover import handed_over, libraries_of
from .mechanism import is_ours, rehearse_mechanism
from .missing import check_missing
from .progress import Progress
from .release import Release, ask, warn_of_one_class, warn_of_release
from .saving import Saved
from .seeds import seed_streams
from .student import (
    all_columns,
    check_scored_alone,
    fit_student,
    rehearse_student,
    students_view,
)
from .synthesis import (
    PaidRows,
    Synthesis,
    check_no_public,
    declared_synthesizer,
    has_room,
    rehearsal_rows,
    rehearse_teachers,
    weakest,
)
from .table import (
    check_for_table,
    check_votes_of_records,
    collect_table,
    release_table,
    table_mechanism,
)
from .voters import (
    ABOUT_TEACHERS,
    make_electorate,
    number_teachers,
    voters,
    with_columns,
)
from .voting import collect, enrol
from .weights import check_class_weight

_STRATEGIES = {
    "random": RandomQueries,
    "uncertainty": UncertaintyQueries,
    "diversity": DiversityQueries,
}


#: Most rows that a student is tried on where every public row may get a label.
_MOST_REHEARSED = 500

#: What `privacy_spent_.not_covered` says of other rows than those drawn, and of classes.
_OTHER_ROWS = "the rows given to fit_student, which may be part of the student"
_READ_CLASSES = "classes_, read from the private labels"

#: Why a fit is refused whose public rows are the private ones.
_NOT_PUBLIC = (
    "X_public is X or a part of it, so the student would show private rows, which no noise "
    "protects; give rows that are public, or a synthesizer"
)

_ALL_EQUAL = "the rows of X_public are all equal, so nothing can be learnt from their labels"

_ABOUT_WORKERS = {"n_jobs": "says how many teachers are made at once"}

#: Attributes that a fit has or has not.
_NOT_IN_EVERY_FIT = (
    "student_",
    "curator_",
    "feature_names_in_",
    "n_teachers_",
    "table_",
    "X_synthetic_",
)


class _Task(NamedTuple):
    """What a fit was given, after all checks.

    Attributes
    ----------
    X_public : array-like with n_public rows
        All public rows.
    checked_clone : PATEClassifier
        An unfitted clone that has `n_features_in_` and, if there are names, `feature_names_in_`.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    ballots : Ballots or TableBallots
        What one protected unit can change of the votes.
    digest : str
        What tells the public rows from others.
    seeds : dict
        A source of randomness for each use.
    electorate : Electorate or None
        Who votes; None if the votes were given.
    private : PrivateData or None
        What it votes by; None if the votes were given.
    synthesis : Synthesis or None
        Where the public rows come from; None if they were given.
    is_paid : bool
        Whether the ledger has recorded the fit.
    are_drawn : bool
        Whether the public rows were drawn, or will be: they are less like private ones.
    not_covered : tuple of str
        What `privacy_spent_` will say of what was read from private data.
    obstacles : tuple of str
        Why nothing that may be published can be learnt.
    voted : TableElectorate or None
        Who cast votes that were given, in a table.
    fit_number : int
        What `privacy_spent_` will say; 1 in a plan.
    """

    X_public: Any
    checked_clone: Any
    classes: np.ndarray
    ballots: Ballots | TableBallots
    digest: str
    seeds: dict
    electorate: Electorate | None = None
    private: PrivateData | None = None
    synthesis: Synthesis | None = None
    is_paid: bool = False
    are_drawn: bool = False
    not_covered: tuple = ()
    obstacles: tuple = ()
    voted: TableElectorate | None = None
    fit_number: int = 1

    @property
    def is_table(self):
        """Whether records vote, in a table that is released at once."""
        return isinstance(self.ballots, TableBallots)

    def cost_to_pay(self, plan, ledger):
        """Return the `Cost` that a ledger has not recorded yet: rows that were drawn, it may."""
        has_rows = self.synthesis is not None and ledger in self.synthesis.ledgers
        return plan.own_cost if has_rows else plan.cost

    @property
    def rows_are_to_draw(self):
        """Whether public rows are to be drawn, and paid for, before anyone votes."""
        return self.synthesis is not None and self.synthesis.is_to_draw

    @property
    def cost_before(self):
        """What returns, for Renyi orders, the `Cost` of what is released before the labels.

        Plans keep it, so it must hold nothing private.
        """
        return no_cost if self.synthesis is None else self.synthesis.without_data().cost


#: Runs a method with numpy's default errors, whatever `numpy.seterr` says.
_usual_floats = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def _student_has(method):
    """Whether the student, fitted or to be fitted, has a method."""

    def check(self):
        student = getattr(self, "student_", None) or self._unfitted_student()
        getattr(student, method)  # its own AttributeError says why it has none
        return True

    return check


class PATEClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Classifier trained on private data through a noisy vote (PATE).

    The private records vote on public, unlabelled points: each casts one ballot where it lies, or
    they are split among teachers, each of which votes. An aggregator adds noise to the votes, and
    so labels these points. A student learns the labels. Only the student and what was released of
    the votes depend on private data, and `privacy_spent_` states how much privacy they cost.

    Parameters that are None follow from public numbers; see `sklearn_pate.rules`.

    Parameters
    ----------
    base_estimator : classifier, list of classifiers or Electorate, default=None
        The classifier that each teacher is a clone of. A list is dealt to the teachers in turn.
        An `electorate.Electorate` votes in place of teachers. None is
        `neighbors.ReverseNeighbors()`: the records vote themselves. Where a parameter speaks of
        teachers or of the queries that they are asked (`n_teachers`, `partition`, `keep_teachers`,
        `timeout`, `n_queries`, `query_strategy`, `accounting`, an `Aggregator`, or `Sites` as X),
        None is a logistic regression on the numbers of a `neighbors.RowVectorizer`.
        Preprocessing belongs inside the classifier, as a Pipeline, where the guarantee covers it.
        It is fitted on label codes 0..K-1. Each teacher gets a copy with seeds of its own and with
        `verbose` off. Copies for teachers, and for the student, have no scikit-learn callbacks,
        and their Pipelines no `memory`. skorch callbacks that keep weights in files are refused.
    n_teachers : int, default=None
        Number of teachers. More teachers allow more noise, but each learns from fewer records. None
        follows from the numbers of records and classes, and `epsilon`:
        `rules.default_n_teachers`; 100 where the number of records is private.
    aggregator : Aggregator or list of Aggregator, default=None
        The mechanism that releases labels. None is ``GNMax(sigma=None)``, whose noise is
        calibrated so that the queries cost exactly `epsilon`. The aggregators of a list are asked
        in stages, for instance ``[ConfidentGNMax(...), InteractiveGNMax(...)]``, and `epsilon`
        caps all stages together. For mechanisms that compare votes with the student, a student is
        fitted between stages. Stages that leave their noise to the fit share one scale. Where
        records vote, a `TableMechanism`; None is `LaplaceMechanism()`.
    student : classifier, default=None
        The classifier that is trained on the released labels and published. None is a clone of
        `base_estimator`, or of the first in a list; where records vote, a
        `neighbors.LandmarkClassifier`, which learns from the rates of the classes, and another may
        be worse. It is fitted on label codes 0..K-1. Each `random_state` in it that is None or a
        generator is replaced by a number. The number follows from the fit's own `random_state` if
        there is one, and otherwise comes from the operating system. Students that also learn from
        unlabelled rows get all rows of `X_public`, with -1 where no label was released:
        scikit-learn's `SelfTrainingClassifier`, `LabelPropagation` and `LabelSpreading`,
        classifiers with the attribute ``accepts_unlabeled = True``, and pipelines that end in one
        of these.
        `students.SoftLabelClassifier` gets soft labels from `SoftVote`.
    n_queries : int or list of int, default=None
        How many public rows to ask about. A list has one number for each stage. None asks as many
        as the budget pays for; with calibrated noise, as many as it pays for with a noise scale of
        at most ``n_teachers / (2 * sqrt(n_classes))``, but at least 5 for each class.
    query_strategy : {"random", "uncertainty", "diversity"} or object, default="random"
        Which public rows to ask about. "uncertainty" asks in rounds, about the rows of which the
        student is least sure. "diversity" asks about rows that cover the public data. An object
        has a `select` method, see `sklearn_pate.queries`. Strategies that ask in rounds choose
        among all rows of `X_public`, so teachers vote on all of them.
    epsilon : float or None, default=1.0
        Hard cap on the privacy loss of one fit. The fit asks fewer queries rather than exceed it.
        If a mechanism checks the votes before it answers, a query without an answer spends only
        the check, and what it did not spend is left for other queries. With None there is no cap.
    delta : float, default=1e-5
        What the guarantee adds to the factor ``e**epsilon``: if an outcome has probability Q on one
        data set, it has at most ``e**epsilon * Q + delta`` on a neighbouring one. Choose it well
        below one over the number of records. A warning says if it is not below that. If the number
        of records is not public, the warning goes by the number of teachers instead.
    accounting : {"data_independent", "ptr"}, default="data_independent"
        "data_independent" spends what the queries cost whatever the votes are. "ptr"
        (propose-test-release) spends less when teachers agree: labels are released only if a
        private test finds the exact cost of the votes small enough for `epsilon`. It needs numbers
        for `epsilon`, `n_queries` and the aggregator's noise, and queries that do not depend on
        labels. If the test fails, `fit` raises `PrivacyTestError`, and `epsilon` is spent all the
        same.
    unit : {"record", "group"}, default="record"
        What the guarantee protects. "group" needs ``fit(..., groups=...)``.
    partition : {"random", "hash", "predefined"} or object, default="random"
        How records are dealt to teachers. This decides which change of the private data the
        guarantee covers (`privacy_spent_.adjacency`):

        - "random" shuffles the records with a seed and cuts them into nearly equal parts. It
          covers replacing one record. The number of records is public.
        - "hash" uses a keyed hash of the DataFrame's index. It covers adding or removing one
          record, or changing it under the same identifier.
        - "predefined" takes the teacher of each record from `groups` (one hospital, one teacher).
          It covers changing records of one group that keeps at least one. `n_teachers` is ignored.
        - `partition.PredefinedPartition(names=[...])` does the same with public names. A name may
          have no records. It covers changing any records of one named group, even all of them.
        - An object has `adjacency` and `assign`, see `sklearn_pate.partition`.

        If `groups` is given, "random" and "hash" use a keyed hash of the group's identifier
        instead. This covers adding or removing one group, or changing its records.
    classes : array-like of shape (n_classes,), default=None
        All labels that may occur: public knowledge. None reads them from the private labels. The
        guarantee does not cover that, and a warning says so.
    keep_teachers : bool, default=False
        Keep the fitted teachers in `curator_.teachers`.
    n_jobs : int, default=None
        Number of teachers fitted in parallel, as in joblib; where records vote, of blocks of them
        counted in parallel. Threads share the random numbers of numpy, Python and torch, so in
        threads the teachers take turns, and a warning says so. Whatever a teacher or the student
        would itself run in parallel with joblib (a forest's `n_jobs`) runs one after the other.
    timeout : float, default=None
        Seconds that a teacher may take to fit and vote. If one takes longer, the fit fails before
        any label is released. A timeout needs `n_jobs` of 2 or more, in processes. None waits
        forever.
    random_state : int, RandomState instance or None, default=None
        None takes all randomness, above all the noise, from the operating system. A seed makes
        the whole fit reproducible for any `n_jobs`. It is for tests only: whoever knows the seed
        can subtract the noise, so a published seed voids the guarantee. `privacy_spent_` and its
        summary tell of it, and the first seeded fit of a process warns of it. Several fits with
        one seed share their noise, and so do clones in a search. Their releases can be combined to
        undo the noise, even by someone who does not know the seed. A pickle of a fitted estimator
        does not contain the seed. Even so, anyone can guess a seed and compare what it gives with
        what was published.
    secure : bool, default=False
        Refuse a `random_state`, so that no seed can get into what is published. The noise is the
        same: without a `random_state`, all of it comes from the operating system's generator.
    memory : str, path-like, joblib.Memory or None, default=None
        A folder that keeps the votes of each teacher as soon as it has finished, so that an
        interrupted fit can continue. The next fit with the same data and parameters trains only
        the missing teachers. Where records vote, it keeps the ballots of each block of records, and
        the seed of the cells. Without a `random_state`, that fit also has the same partition,
        teachers and queries, but fresh noise.

        Two fits count as the same if all of these are equal: the data, the parameters, the code of
        classes and functions in `base_estimator`, whatever that code refers to by name (variables
        with their values), and the versions of Python and of the installed packages. Some changes
        are not seen: of files that a fit reads, of modules that it imports inside a function, of
        what it finds by a name made at run time, of annotations, of compiled extensions of your
        own, of the state of objects that do not pickle, and of module variables that the fit
        itself changes, except in the statements that assign them. Use another folder after such a
        change.

        The folder is private data, and it is for you to delete. Votes go into its subfolder
        `joblib`, which is made with mode 0700. A subfolder that others may read is refused. A
        `joblib.Memory` is taken as it is.
    ledger : PrivacyLedger or None, default=None
        One budget for all fits on one private data set, a `ledger.PrivacyLedger`. A fit that would
        exceed it is refused before any teacher trains. Any other fit is recorded before labels are
        released. Fits with a `random_state` are refused.
    synthesizer : Synthesizer, default=None
        Draws public rows from noisy statistics of the private ones, where there are none:
        `synthesis.ClassSums` or `synthesis.MarginalSynthesizer`. Call ``fit(X, y)`` then. `epsilon`
        covers them, and takes the synthesizer's `share` for them. None is ``ClassSums()`` where
        there is a `schema` and no `X_public`.
    verbose : int, default=0
        Above 0, print one line for each phase (teachers, queries, student) and update it. With 0, a
        fit that takes more than a few seconds shows such a line on a terminal (``sys.stderr``), and
        wipes it out in the end; where no terminal is, as in a file, there is none. With
        scikit-learn 1.9 or newer, callbacks can show the phases too: pass one, for instance its
        `ProgressBar`, to `set_callbacks`. Callbacks see counts. In place of the estimator they see
        only those of its parameters that are public numbers or text.
    schema : dict, list, tuple or synthesis.Schema, default=None
        What the columns may hold, for people who have no public rows: for each a tuple of numbers,
        ``(low, high)``, or a list of categories. ``fit(X, y)`` needs no more. It is public.
    class_weight : None, "balanced" or dict, default=None
        What each class counts in what the student learns. "balanced" counts them alike, whatever
        their shares, so that rare ones are predicted; a dict has a number for each class, else 1.
        It shifts what was released, by released shares: free.
    on_bad_plan : {"raise", "warn"}, default="raise"
        What a fit does whose plan says that nothing can be learnt: noise that drowns all records,
        hardly any public rows, fewer labels than classes, or private rows in the place of public
        ones. "raise" refuses it before anything is spent, with a `BadPlanError`. "warn" goes on.
        `plan` itself never refuses.

    Attributes
    ----------
    privacy_spent_ : PrivacySpent
        What the fit spent. It is safe to publish, and unpacks into ``epsilon, delta``.
    student_ : classifier
        The fitted student. It was trained on codes, so alone it predicts codes, and its own
        `classes_` are those that were released. Use `predict` of this classifier for labels, or
        ``classes_[student_.predict(X)]``.
    aggregator_ : Aggregator or list of Aggregator
        The mechanism used, with its noise set.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if the private data had string column names.
    n_teachers_ : int
        Number of teachers; absent where records vote.
    public_labels_ : ndarray of shape (n_public,), int
        For each public row the code of its released label (an index into `classes_`), or -1 if it
        has none.
    public_soft_labels_ : ndarray of shape (n_public, n_classes) or None
        With `SoftVote`, for each public row its released distribution over classes, or NaN if it
        has none. Where records vote, the released rates of the classes. Otherwise None.
    query_indices_ : ndarray of shape (n_queries,), int
        The public rows that were asked, in order; where records vote, those that got a label.
    X_synthetic_ : array-like with n_rows rows
        The rows that the synthesizer drew in place of public ones; they are published. Absent where
        public rows were given. They are all that there is if the fit failed after they were drawn,
        and may be given as `X_public` then.
    table_ : neighbors.ReleasedTable
        Where records vote, the noisy table of their ballots, and what it says of any row.
    curator_ : Curator
        Private view of the fit: votes, data-dependent epsilon, and teachers if they were kept.
        Pickles and copies do not have it.

    Raises
    ------
    BudgetExceededError
        From `fit`, if `epsilon` does not pay for one query, or if the ledger does not pay for the
        fit. It is raised before any teacher trains, unless another process uses the ledger up
        while teachers train; then it is raised after. Either way nothing was released or spent.
    BadPlanError
        From `fit`, if nothing can be learnt from what it would spend; see `on_bad_plan`.
    TeacherError
        From `fit`, if a teacher fails, or a worker that counts ballots. No label was released.
    PrivacyTestError
        From `fit`, if the votes do not pass the test of ``accounting="ptr"``. No label was
        released. The error says what the outcome of the test cost.
    StudentError
        From `fit`, if the released labels cannot train the student. The error carries the labels,
        which are paid for; `fit_student` tries another student on them.

    Notes
    -----
    Each fit spends anew: the privacy losses of several fits on the same private data add up.
    Searches and cross-validation fit many times. `privacy_spent_.fit_number` says how many fits the
    process had begun, and the summary says so of all but the first. Fits that a teacher makes are
    part of the fit that trains it, and do not count. Worker processes count for themselves, from 1.
    What was spent on one data set, in all processes, only a `ledger` knows.

    References
    ----------
    .. [1] Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017). Semi-supervised knowledge
           transfer for deep learning from private training data. ICLR.
    .. [2] Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018). Scalable private
           learning with PATE. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate import PATEClassifier
    >>> X, y = make_classification(3000, n_features=5, class_sep=2, random_state=0)
    >>> clf = PATEClassifier(LogisticRegression(), classes=[0, 1])
    >>> clf = clf.fit(X[:2000], y[:2000], X_public=X[2000:2500])
    >>> epsilon, delta = clf.privacy_spent_
    >>> epsilon <= 1.0
    True
    >>> clf.predict(X[2500:]).shape
    (500,)
    """

    # Requested by default, so that users need not call set_fit_request for metadata routing
    __metadata_request__fit = {"X_public": True, "groups": True}

    _parameter_constraints: dict = {
        "base_estimator": [HasMethods(["fit", "predict"]), list, Electorate, None],
        "n_teachers": [Interval(Integral, 1, None, closed="left"), None],
        "aggregator": [Mechanism, TableMechanism, list, None],
        "student": [HasMethods(["fit", "predict"]), None],
        "n_queries": [Interval(Integral, 1, None, closed="left"), list, None],
        "query_strategy": [StrOptions(set(_STRATEGIES)), HasMethods(["select"])],
        "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "accounting": [StrOptions({"data_independent", "ptr"})],
        "unit": [StrOptions({"record", "group"})],
        "partition": [StrOptions({"random", "hash", "predefined"}), HasMethods(["assign"])],
        "classes": ["array-like", None],
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
        "synthesizer": [HasMethods(["declare", "draw"]), None],
        "verbose": ["verbose"],
        "schema": [dict, list, tuple, Schema, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        base_estimator=None,
        *,
        n_teachers=None,
        aggregator=None,
        student=None,
        n_queries=None,
        query_strategy="random",
        epsilon=1.0,
        delta=1e-5,
        accounting="data_independent",
        unit="record",
        partition="random",
        classes=None,
        keep_teachers=False,
        n_jobs=None,
        timeout=None,
        random_state=None,
        secure=False,
        memory=None,
        ledger=None,
        synthesizer=None,
        verbose=0,
        on_bad_plan="raise",
        schema=None,
        class_weight=None,
    ):
        self.base_estimator = base_estimator
        self.n_teachers = n_teachers
        self.aggregator = aggregator
        self.student = student
        self.n_queries = n_queries
        self.query_strategy = query_strategy
        self.epsilon = epsilon
        self.delta = delta
        self.accounting = accounting
        self.unit = unit
        self.partition = partition
        self.classes = classes
        self.keep_teachers = keep_teachers
        self.n_jobs = n_jobs
        self.timeout = timeout
        self.random_state = random_state
        self.secure = secure
        self.memory = memory
        self.ledger = ledger
        self.synthesizer = synthesizer
        self.verbose = verbose
        self.on_bad_plan = on_bad_plan
        self.schema = schema
        self.class_weight = class_weight

    @_usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train teachers on private data, release noisy labels, train the student on them.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Sites with n_samples rows
            Private features. They reach the teachers as they are, for instance text columns,
            categoricals and arrays with more than two axes. A `numpy.memmap` is read one part at a
            time. All teachers see the dtypes and categories of a DataFrame, so these must be equal
            to those of `X_public`. With `teachers.Sites`, each teacher loads its own data.
        y : array-like of shape (n_samples,)
            Private labels: strings, integers or booleans. None with `Sites`.
        X_public : array-like, sparse matrix, DataFrame or PublicData with n_public rows
            Public, unlabelled points with the same features as `X`. They are labelled, and the
            student sees nothing else; None where there is a `schema`. In searches and
            cross-validation pass `PublicData(X_public)`: they would split an array that has as many
            rows as `X`.
        groups : array-like of shape (n_samples,), default=None
            One identifier per record: of the person it belongs to or, with
            ``partition="predefined"``, of its teacher.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed to the teachers whose ``fit`` accepts it. Where records vote, or a synthesizer
            counts them, the part of its ballot that each casts, from 0 to 1; others are refused.
            Each weight must depend on its own record alone, or the guarantee does not hold.

        Returns
        -------
        PATEClassifier
            Itself, fitted.

        Raises
        ------
        BudgetExceededError, TeacherError, PrivacyTestError, StudentError
            See the class.
        ValueError
            If public data are missing, lengths are inconsistent or parameters are out of range.
            Nothing was spent.
        """
        fit_number = next_fit_number()
        task = self._check_given(X, y, X_public, groups, sample_weight)
        task = task._replace(fit_number=fit_number)
        plan = self._accepted(self._plan(task))
        rows = self._rows_to_vote_on(task, plan)
        are_to_draw = task.rows_are_to_draw
        with Progress(self, n_phases=3 + are_to_draw) as progress, PaidRows(self) as paid:
            if are_to_draw:
                task = self._pay_for_rows(task, plan, paid)
                task = self._draw_public_rows(task, paid, progress)
                rows = self._rows_to_vote_on(task, plan)
            votes = self._poll(task, rows, plan, progress)
            released = self._release(task, plan, rows, votes, progress)
            self._learn(task, released, progress)
        if are_to_draw:
            task.synthesis.tell()
        warn_of_release(plan, released)
        return self

    @_usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def plan(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Check what `fit` would check, and say what it would ask and spend; nothing is spent.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.

        Returns
        -------
        Plan
            Print it: it says who votes, how many labels there are for each class, how many of
            them will be right, and what would help. Its `stages` are the aggregators, with their
            noise set, and the number of queries of each. Its `spent` is a forecast of what
            `privacy_spent_` will say. A plan depends on public numbers alone.

        Raises
        ------
        BudgetExceededError, ValueError
            As `fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn_pate import PATEClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> clf = PATEClassifier(epsilon=1.0, n_queries=30, classes=[0, 1])
        >>> plan = clf.plan(X[:2000], y[:2000], X_public=X[2000:])
        >>> [(str(aggregator), n_queries) for aggregator, n_queries in plan.stages]
        [('GNMax(sigma=25.2...)', 30)]
        """
        return self._plan(self._check_given(X, y, X_public, groups, sample_weight))

    @_fit_context(prefer_skip_nested_validation=False)
    def _plan_trial(
        self, X, y, X_public=None, *, groups=None, sample_weight=None, is_forecast=True
    ):
        """Plan a trial of a search, which says itself what rows cost that were drawn before."""
        task = self._check(X, y, X_public, groups, sample_weight)
        return self._plan(task, is_forecast=is_forecast)

    @_usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def poll(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        """Train the teachers and return their private votes on all public rows, for `fit_votes`.

        Training the teachers takes long. With their votes, aggregators, students and query
        strategies can be compared without training again. If `aggregator` is a `SoftVote`, the
        teachers give probabilities of its temperature in place of votes.

        Parameters
        ----------
        X, y, X_public, groups, sample_weight
            As in `fit`.

        Returns
        -------
        Votes
            Private, like `curator_`: no mechanism released them. They cannot be pickled.

        Raises
        ------
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
        return self._poll_all_rows(self._check_given(X, y, X_public, groups, sample_weight))

    def _poll_all_rows(self, task):
        """Draw public rows where there are none, and collect the votes on all of them."""
        plan = None
        are_to_draw = task.rows_are_to_draw
        if are_to_draw:  # what `fit_votes` would refuse is refused before rows are paid for
            plan = self._accepted(self._plan(task))
        elif task.is_table:  # the noise decides how many cells it has
            plan = self._plan_table(task)
            plan = forecast(self, task, plan, self._spent(plan, task))
            warn_of_plan(plan, self.epsilon)
        with Progress(self, n_phases=1 + are_to_draw) as progress, PaidRows(self) as paid:
            if are_to_draw:
                task = self._pay_for_rows(task, plan, paid, are_alone=True)
                task = self._draw_public_rows(task, paid, progress)
            votes = self._poll(task, np.arange(_num_samples(task.X_public)), plan, progress)
            if are_to_draw:
                task.synthesis.tell()
            told = {
                "synthesis": task.synthesis,
                "not_covered": task.not_covered,
                "obstacles": task.obstacles,
            }
            return dataclasses.replace(votes, **told)

    @_usual_floats
    @_fit_context(prefer_skip_nested_validation=False)
    def fit_votes(self, votes, X_public=None):
        """Do what `fit` does after the teachers: release labels from votes, train the student.

        Each call spends anew on the same private data. Choosing among candidates spends too,
        unless the choice looks only at public data or released labels. What you publish in the end
        must account for all labels that were looked at. As long as votes stay with you, trying
        things out on them is free. Never publish two results with the same `random_state`: their
        noise is related.

        Parameters
        ----------
        votes : Votes or array-like of shape (n_public, n_classes)
            From `poll`, or counts of any teachers' votes on each row of `X_public`. Counts are
            whole numbers, and each row sums to the number of teachers. With counts,
            `privacy_spent_` protects the votes of one teacher, and `classes` defaults to
            0..n_classes-1. The number of teachers, the partition and the unit are those of the
            votes, not those of the parameters. Where records vote, so are cells and transformer;
            an `adjacency` or `n_neighbors` that differs is refused.
        X_public : array-like or PublicData with n_public rows, default=None
            The rows that were voted on, in the same order. None where a synthesizer drew them:
            the votes have them, and each call reports what they cost beside its own cost.

        Returns
        -------
        PATEClassifier
            Itself, fitted.

        Raises
        ------
        BudgetExceededError, PrivacyTestError, StudentError
            As in `fit`.
        ValueError
            If the votes do not belong to `X_public`, `classes` or the aggregator.
        """
        fit_number = next_fit_number()
        task, votes = self._check_with_votes(votes, X_public)
        task = task._replace(fit_number=fit_number)
        plan = self._accepted(self._plan(task))
        rows = self._rows_to_vote_on(task, plan)
        if not task.is_table:
            votes = dataclasses.replace(votes, counts=votes.counts[rows])
        with Progress(self, n_phases=2) as progress:
            released = self._release(task, plan, rows, votes, progress)
            self._learn(task, released, progress)
        warn_of_release(plan, released)
        return self

    @_usual_floats
    def fit_student(self, X_public=None, student=None):
        """Train another student on what was released already, at no privacy cost.

        Where records vote, the released table says something of any row. So `X_public` may be
        other public rows, for instance newer ones, and `public_labels_`, `public_soft_labels_` and
        `query_indices_` become theirs.

        Parameters
        ----------
        X_public : array-like or PublicData with n_public rows, default=None
            The public data given to `fit`, with the rows in the same order: labels go by position.
            Where records vote, any public rows with the same features. None are the rows that a
            synthesizer drew, `X_synthetic_`.
        student : classifier, default=None
            Unfitted. None is the student that the parameters say.

        Returns
        -------
        PATEClassifier
            Itself, with a new `student_`.

        Raises
        ------
        NotFittedError
            If no labels were released yet.
        StudentError
            If the labels cannot train this student either.
        ValueError
            If `X_public` does not have the number of rows and features that it had in `fit`; where
            records vote, if it does not have the features, or cannot be transformed.

        Warns
        -----
        UserWarning
            If teachers voted, and some rows of `X_public` are not those given to `fit`.

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
        if X_public is None:
            X_public = getattr(self, "X_synthetic_", None)
        if X_public is None:
            raise ValueError("X_public is missing: the rows given to fit")
        X_public = indexable_rows(public_rows(X_public), "X_public")
        check_features(self, X_public, "X_public")
        released = Release.of(self)
        if released.table is not None:
            released.add_rates(*released.table.read(X_public))
        else:
            check_labelled_rows(X_public, len(self.public_labels_), self._rows_asked_about)
        if student is None:
            student = self._student_of(released, is_table=released.table is not None)
        check_classifier("student", student)
        seed = seed_streams(self.random_state, self.secure)["student"]
        self.student_ = fit_student(student, X_public, released, seed)
        not_covered = tuple(part for part in released.spent.not_covered if part != _OTHER_ROWS)
        are_own = are_same_rows(X_public, getattr(self, "X_synthetic_", None))
        if not are_own and (released.spent.n_synthetic or recalled(X_public)[0]):
            not_covered += (_OTHER_ROWS,)
        released.spent = dataclasses.replace(released.spent, not_covered=not_covered)
        self._set_released(released)
        warn_of_one_class(released)
        return self

    def export(self, X=None):
        """Return the published student by itself, for people who do not have this library.

        It is a copy that predicts labels, made of scikit-learn and of the libraries of the student.
        Two attributes of it say what it is: `privacy_spent_`, the dict of
        `PrivacySpent.to_dict`, and `libraries_`, a dict with the versions of the libraries that it
        needs. Its `classes_` are the labels that its student saw: a label that was never released
        has no column in `predict_proba`.

        Parameters
        ----------
        X : array-like or PublicData with n_samples rows, default=None
            Public rows, on which the export is compared with this classifier. None are the rows
            that a synthesizer drew. Without any, random numbers tell whether the student's last
            step decodes its labels by `classes_`, as most of scikit-learn's classifiers do. For
            others rows must be given.

        Returns
        -------
        classifier
            With `predict` and `classes_`, and `predict_proba` if the student has it and predicts
            the label of the largest probability, or decodes its labels by `classes_`.

        Raises
        ------
        NotFittedError
            If there is no student yet.
        ValueError
            If the student has parts of this library that scikit-learn cannot express, or classes of
            the program or notebook that runs, which the message names, or does not pickle. If rows
            must be given, or predictions differ.

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
        model = handed_over(self, X)
        frames = []
        if hasattr(self, "feature_names_in_"):
            frames.append(pd.DataFrame() if X is None else X)
        model.libraries_ = libraries_of(model, rows=frames)
        model.privacy_spent_ = self.privacy_spent_.to_dict()
        return model

    @_usual_floats
    def predict(self, X):
        """Predict labels with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels, elements of `classes_`.
        """
        X = self._check_predict(X)
        with self._columns_said(X):
            codes = self.student_.predict(X)
        return self.classes_[check_predicted(codes, n_classes=len(self.classes_))]

    @available_if(_student_has("predict_proba"))
    @_usual_floats
    def predict_proba(self, X):
        """Predict class probabilities with the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per element of `classes_`. It is zero for a class that was never released.
        """
        X = self._check_predict(X)
        with self._columns_said(X):
            return self._all_columns(self.student_.predict_proba(X), 0.0)

    @available_if(_student_has("predict_proba"))
    def predict_log_proba(self, X):
        """Log of `predict_proba`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            One column per element of `classes_`. It is -inf for a class that was never released.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_student_has("decision_function"))
    def decision_function(self, X):
        """Decision values of the student.

        Parameters
        ----------
        X : array-like with n_samples rows
            Points to classify.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, what the student returns. For more, one column per element of
            `classes_`, -inf for a class that was never released.
        """
        X = self._check_predict(X)
        with self._columns_said(X):
            values = np.asarray(self.student_.decision_function(X))
        if len(self.classes_) > 2 and values.ndim == 1:
            values = np.column_stack([-values, values])
        per_class = values.ndim == 2 and values.shape[1] == len(self.student_.classes_)
        return self._all_columns(values, -np.inf) if per_class else values

    # --- check -------------------------------------------------------------------------------

    def _validate_params(self):
        """Check the parameters; a number in the first place was meant to be epsilon."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            given = self.base_estimator
            if not isinstance(given, Real) or isinstance(given, bool):
                raise
            raise InvalidParameterError(
                f"{error} All other parameters are given by name: was "
                f"PATEClassifier(epsilon={given!r}) meant?"
            ) from None

    def _check_given(self, X, y, X_public, groups, sample_weight):
        """Do what `_check` does; if public rows were drawn by an earlier fit, count their cost."""
        task = self._check(X, y, X_public, groups, sample_weight)
        return task if task.synthesis is not None else self._with_cost_of_rows(task)

    def _with_cost_of_rows(self, task):
        """Return a task that has the cost of its public rows, if an earlier fit drew them."""
        are_drawn, synthesis = recalled(task.X_public)
        if not are_drawn:
            return task
        protects = task.ballots.unit, str(task.ballots.adjacency)
        if synthesis is None or protects != (synthesis.unit, synthesis.adjacency):
            return task._replace(are_drawn=True, not_covered=(*task.not_covered, DRAWN_BEFORE))
        read = getattr(synthesis.synthesizer, "not_covered_", ())
        synthesis = dataclasses.replace(synthesis, rows=task.X_public)
        not_covered = (*task.not_covered, *read)
        return task._replace(synthesis=synthesis, are_drawn=True, not_covered=not_covered)

    def _check(self, X, y, X_public, groups, sample_weight):
        """Check all that `fit` is given, and enrol the electorate; nothing is trained."""
        check_not_swapped(X, y)
        synthesizer = declared_synthesizer(self, X, X_public, groups=groups)
        electorate = make_electorate(self, X, synthesizer=synthesizer)
        if isinstance(electorate, TableElectorate) and isinstance(X, Sites):
            raise ValueError(
                f"X is Sites, which train teachers of their own, and {type(electorate).__name__} "
                "lets records vote; give X and y as arrays or DataFrames, or let teachers vote"
            )
        self._check_parts(electorate)
        not_covered = () if self.classes is not None else (_READ_CLASSES,)
        obstacles = ()
        if synthesizer is None:
            are_private = warn_if_private(X_public, X)
            if are_private:
                obstacles = (_NOT_PUBLIC,)
            not_covered += are_private
            X_public = given_rows(X_public)
        else:
            not_covered += tuple(getattr(synthesizer, "not_covered_", ()))
            X_public = rehearsal_rows(synthesizer)
        checked_clone = clone(self)  # a refit that fails must not change what predict expects
        private = check_data(
            checked_clone,
            X,
            y,
            X_public,
            classes=self.classes,
            sample_weight=sample_weight,
            groups=groups,
        )
        if synthesizer is None and are_all_equal(X_public):
            obstacles += (_ALL_EQUAL,)
        seeds = seed_streams(self.random_state, self.secure)
        memory = private_memory(self.memory)
        partition_seed = self._kept_seeds(seeds, memory, X_public)
        number_teachers(electorate, self, private)
        ballots = enrol(electorate, private, X_public, seed=partition_seed, memory=memory)
        if synthesizer is None:
            columns = with_columns(electorate, self, private, X_public)
            if columns is not None:
                electorate = columns
                ballots = enrol(electorate, private, X_public, seed=None, memory=None)
        self._check_unit(
            ballots,
            "give groups=, one identifier per record. Searches and cross-validation drop groups "
            "unless metadata routing is on",
        )
        synthesis = None
        if synthesizer is not None:
            sizes = {"n_columns": X_public.shape[1], "n_classes": len(private.classes)}
            synthesis = Synthesis.planned(
                synthesizer,
                private,
                ballots,
                pure=isinstance(ballots, TableBallots)
                and table_mechanism(self.aggregator, electorate).is_pure,
                sizes=sizes,
                epsilon=self.epsilon,
                delta=self.delta,
            )
        return _Task(
            X_public=X_public,
            checked_clone=checked_clone,
            classes=private.classes,
            ballots=ballots,
            digest=rows_digest(X_public),
            seeds=seeds,
            electorate=electorate,
            private=private,
            synthesis=synthesis,
            are_drawn=synthesis is not None,
            not_covered=not_covered,
            obstacles=obstacles,
        )

    def _kept_seeds(self, seeds, memory, X_public):
        """Take from `memory` what it keeps of the seeds; return that of the electorate, or None."""
        if memory is None or self.random_state is not None:
            return seeds["partition"]
        # By the public rows alone: queries are published, and if they followed the private data,
        # they would show that these changed between two fits
        seeds["queries"] = kept_seed(memory, (digest(X_public), "queries"))
        return None  # so the electorate takes its seeds from `memory`, the same for the next fit

    def _check_with_votes(self, votes, X_public):
        """Check all that `fit_votes` is given, votes that were cast before."""
        synthesis = getattr(votes, "synthesis", None)
        if synthesis is not None:
            if not are_same_rows(public_rows(X_public), synthesis.rows):
                check_no_public(X_public)
            X_public = synthesis.rows
        if X_public is None:
            raise ValueError("X_public is missing: the rows that were voted on")
        are_counts = not isinstance(votes, Votes)  # `poll` counts the cost of its rows
        is_table = not are_counts and votes.is_table
        electorate = make_electorate(self, is_table=is_table)
        check_votes_of_records(votes, electorate, is_given=self.base_estimator is not None)
        self._check_parts(electorate)
        if is_table:
            check_for_table(self)
        X_public = given_rows(X_public)
        checked_clone = clone(self)
        check_features(checked_clone, X_public, "X_public", reset=True)
        votes = check_votes_given(
            votes,
            self.classes,
            n_public=_num_samples(X_public),
            aggregator=self.aggregator,
            temperature=self._temperature(),
        )
        self._check_unit(votes.ballots, "poll with groups")
        if is_table:
            votes.electorate.check_public(X_public)
        seeds = seed_streams(self.random_state, self.secure)
        task = _Task(
            X_public=X_public,
            checked_clone=checked_clone,
            classes=votes.classes,
            ballots=votes.ballots,
            digest=rows_digest(X_public),
            seeds=seeds,
            synthesis=synthesis,
            not_covered=votes.not_covered,
            obstacles=votes.obstacles,
            voted=votes.electorate if is_table else None,
        )
        return (self._with_cost_of_rows(task) if are_counts else task), votes

    def _check_parts(self, electorate):
        """Check that electorate, aggregator, student and query strategy fit together."""
        if isinstance(self.base_estimator, Electorate):
            check_defaults(self, ABOUT_TEACHERS)
        if isinstance(electorate, TableElectorate):
            check_for_table(self)
        elif isinstance(self.base_estimator, Electorate):
            check_defaults(self, _ABOUT_WORKERS)
        stages = _as_list(self.aggregator)
        electorate.check(soft_aggregator=soft_stage(stages))
        student = self._student_after(electorate)
        if student is None:
            raise ValueError(
                f"student must be a classifier: {type(electorate).__name__} suggests none; got "
                "student=None"
            )
        check_classifier("student", student)
        for part in (*stages, self._make_strategy()):
            needs_proba = getattr(part, "uses_student_proba", False)
            if needs_proba and not hasattr(student, "predict_proba"):
                raise ValueError(f"{part} needs a student with predict_proba; got {student!r}")

    def _check_unit(self, ballots, remedy):
        if self.unit == "group" and ballots.unit != "group":
            raise ValueError(f"unit='group', but these votes protect one {ballots.unit}; {remedy}")

    def _student_after(self, electorate):
        """Return the student of the parameters; if they have none, what an electorate suggests."""
        return electorate.default_student() if self.student is None else self.student

    def _unfitted_student(self, *, is_table=None):
        """Return the student; `is_table` says whether records have voted, if that is known."""
        return self._student_after(make_electorate(self, is_table=is_table))

    def _student_of(self, released, *, is_table):
        """Return the student; if the parameters have none, what was released may be one itself."""
        if self.student is None and hasattr(released.table, "default_student"):
            return released.table.default_student().set_params(weight=released.weight)
        return self._unfitted_student(is_table=is_table)

    def _temperature(self):
        """Temperature of the teachers' probabilities; None if they vote."""
        return getattr(soft_stage(_as_list(self.aggregator)), "temperature", None)

    def _make_strategy(self):
        """Return a new query strategy, which a fit may change."""
        given = self.query_strategy
        if isinstance(given, type):
            raise ValueError(f"query_strategy must be an object; got a class, {given.__name__}")
        return _STRATEGIES[given]() if isinstance(given, str) else clone(given, safe=False)

    # --- plan --------------------------------------------------------------------------------

    def _plan(self, task, *, is_forecast=True):
        """Return what to ask and what it costs, by public numbers; refuse to exceed a budget."""
        self._check_ledger(task)
        plan = self._plan_table(task) if task.is_table else self._plan_queries(task)
        spent = self._spent(plan, task)
        if self.ledger is not None:
            self.ledger.check(spent, task.cost_to_pay(plan, self.ledger))
        self._rehearse(task, plan)
        plan = dataclasses.replace(plan, spent=spent)
        return forecast(self, task, plan, spent) if is_forecast else plan

    def _accepted(self, plan):
        """Return a plan; refuse it or warn of what is bad about it."""
        if self.on_bad_plan == "raise":
            refuse_hopeless(plan)
        warn_of_plan(plan, self.epsilon)
        return plan

    def _check_ledger(self, task):
        if self.ledger is None:
            return
        if task.synthesis is not None and task.synthesis.generator == "seed":
            raise ValueError(
                "ledger refuses rows that were drawn with a random_state: two draws with one seed "
                "share noise; draw them again with random_state=None"
            )
        if self.random_state is not None:
            raise ValueError(
                "ledger refuses fits with a random_state: two fits with one seed, for instance of "
                f"clones in a search, share noise; got random_state={self.random_state!r}, give "
                "random_state=None"
            )

    def _plan_queries(self, task):
        """Return what to ask teachers."""
        ballots = task.ballots
        plan = plan_queries(
            GNMax(sigma=None) if self.aggregator is None else self.aggregator,
            self.n_queries,
            n_public=_num_samples(task.X_public),
            n_teachers=ballots.n_teachers,
            n_classes=len(task.classes),
            epsilon=self.epsilon,
            delta=self.delta,
            accounting=self.accounting,
            before=task.cost_before,
        )
        if count_rounds(self._make_strategy()) > 1:
            check_rounds(plan, self.query_strategy, self.accounting)
        return plan

    def _plan_table(self, task):
        """Return how noisy the table of the records' ballots is to be."""
        return plan_table(
            table_mechanism(self.aggregator, task.electorate or task.voted),
            n_changed=task.ballots.n_changed,
            n_rows=_num_samples(task.X_public),
            epsilon=self.epsilon,
            delta=self.delta,
            before=task.cost_before,
            is_pure_before=task.synthesis is None or task.synthesis.synthesizer.is_pure,
        )

    def _spent(self, plan, task):
        """Return what `privacy_spent_` will say, with no query answered yet."""
        ballots = task.ballots
        synthesis = task.synthesis
        is_exact = _is_exact(plan) and (synthesis is None or synthesis.synthesizer.is_exact)
        caveats = dict.fromkeys(
            f"{type(stage).__name__}: {stage.caveat}"
            for stage, _ in plan.stages
            if getattr(stage, "caveat", None) is not None
        )
        return PrivacySpent(
            epsilon=plan.epsilon,
            delta=float(self.delta) if plan.delta is None else plan.delta,
            method=plan.method,
            unit=ballots.unit,
            adjacency=str(ballots.adjacency),  # what is published is plain text
            n_teachers=getattr(ballots, "n_teachers", None),  # records may vote themselves
            n_queries=plan.n_queries,
            n_answered=0,
            arithmetic="exact" if is_exact else "real",
            generator=weakest(self._source_of_noise(), synthesis),
            n_synthetic=0 if synthesis is None else _num_samples(task.X_public),
            not_covered=(*task.not_covered, *caveats),
            fit_number=task.fit_number,
        )

    def _rehearse(self, task, plan):
        """Try the user's own mechanisms and student on made-up data, before anything is spent."""
        student = self._unfitted_student(is_table=task.is_table)
        check_class_weight(self.class_weight, task.classes, student, is_table=task.is_table)
        n_classes = len(task.classes)
        n_queries = plan.n_queries
        if task.is_table:
            n_queries = min(n_queries, _MOST_REHEARSED)
        for aggregator, _ in plan.stages:
            if is_ours(aggregator):  # with many classes it would take seconds
                continue
            if task.is_table:
                rehearse_table(aggregator, n_changed=task.ballots.n_changed, n_classes=n_classes)
            else:
                rehearse_mechanism(
                    aggregator, n_teachers=task.ballots.n_teachers, n_classes=n_classes
                )
        if task.rows_are_to_draw:
            rehearse_teachers(task, task.synthesis.synthesizer, temperature=self._temperature())
        self._check_missing(task, are_drawn=task.synthesis is not None)
        # A student like the teachers is not tried: it trains after them, so they would fail first.
        # Nor is one for a single query: most classifiers cannot be trained on a single class.
        if self.student is not None and n_queries > 1:
            rehearse_student(
                self.student,
                task.X_public,
                n_queries,
                n_classes=n_classes,
                soft=self._temperature() is not None,
            )

    def _check_missing(self, task, *, are_drawn):
        """Refuse missing values in public rows that teachers or student do not take."""
        if task.is_table and self.student is None:
            return
        check_missing(
            task.X_public,
            [] if task.electorate is None else task.electorate.classifiers(),
            self._unfitted_student(is_table=task.is_table),
            n_classes=len(task.classes),
            are_drawn=are_drawn,
        )

    def _source_of_noise(self):
        """Return what `privacy_spent_.generator` says."""
        if self.random_state is not None:
            return "seed"
        return "system"

    def _check_scored_alone(self, X_public, n_queries):
        """For a private search: refuse a student whose prediction for a row depends on others."""
        if isinstance(voters(self), TableElectorate):
            if self.student is None:  # of this library, and tested
                return
            n_queries = min(n_queries, _MOST_REHEARSED)
        check_scored_alone(
            self._unfitted_student(),
            X_public,
            n_queries,
            n_classes=len(self.classes),
            soft=self._temperature() is not None,
        )

    def _make_choice(self, task):
        """Return a `Choice` in its first state: trying one out may have changed its strategy."""
        return Choice(self._make_strategy, task.X_public, task.seeds["queries"])

    def _rows_to_vote_on(self, task, plan):
        """Return the public rows that teachers vote on; a table of ballots is about all of them."""
        if task.is_table:
            return np.arange(_num_samples(task.X_public))
        return self._make_choice(task).rows_to_vote_on(plan, n_classes=len(task.classes))

    # --- poll --------------------------------------------------------------------------------

    def _poll(self, task, rows, plan, progress):
        """Collect the votes on some of the public rows."""
        if task.is_table:
            seed = task.seeds["teachers"]
            return collect_table(task, plan, seed, n_jobs=self.n_jobs, progress=progress)
        with progress.phase("teachers", task.ballots.n_teachers) as done:
            return collect(
                task.electorate,
                task.private,
                _safe_indexing(task.X_public, rows),
                task.ballots,
                temperature=self._temperature(),
                seed=task.seeds["teachers"],
                on_done=done,
            )

    # --- synthesize --------------------------------------------------------------------------

    def _spent_on_rows(self, task):
        """Return what the synthetic rows spend by themselves, and its `Cost`."""
        cost = task.synthesis.cost()
        epsilon, method = cost.epsilon(self.delta)
        plan = Plan([], epsilon, method, cost)
        return dataclasses.replace(self._spent(plan, task), covers="rows"), cost

    def _pay_for_rows(self, task, plan, paid, *, are_alone=False):
        """Record what the synthetic rows cost, and the labels if a ledger has no room for two."""
        spent, cost = self._spent_on_rows(task)
        if has_room(self.ledger, [cost, plan.own_cost]):
            self._pay(spent, cost)
        elif are_alone:
            raise BudgetExceededError(
                "the ledger would refuse the labels after the rows, as two entries cost it more "
                "than one: call fit, or lower epsilon. Nothing was spent"
            )
        else:
            spent = plan.spent.paid()
            self._pay(spent, plan.cost)
            task = task._replace(is_paid=True)
        paid.spent = spent
        paid.are_labels_paid = task.is_paid
        task.synthesis.ledgers.append(self.ledger)
        return task

    def _draw_public_rows(self, task, paid, progress):
        """Draw the synthetic rows, which are paid for, and enrol the electorate with them."""
        seeds = dict(task.seeds)
        with progress.phase("public rows", 1) as done:
            synthesis = task.synthesis.drawn(
                task.private,
                seeds["synthesis"],
                seeds["synthetic rows"],
                generator=self._source_of_noise(),
            )
            paid.synthesis = synthesis
            done(1)
        synthesis.note()
        X_public = given_rows(synthesis.rows)
        electorate = make_electorate(self, task.private.X, synthesizer=task.synthesis.synthesizer)
        number_teachers(electorate, self, task.private)
        memory = private_memory(self.memory)
        partition_seed = self._kept_seeds(seeds, memory, X_public)
        try:
            enrol(electorate, task.private, X_public, seed=partition_seed, memory=memory)
        except ValueError as error:
            problem = str(error).removesuffix(". Nothing was spent")
            raise ValueError(
                "the rows that were drawn, which are paid for, do not suit the electorate: "
                f"{problem}"
            ) from None
        return task._replace(
            synthesis=synthesis,
            X_public=X_public,
            digest=rows_digest(X_public),
            electorate=electorate,
            seeds=seeds,
        )

    # --- release -----------------------------------------------------------------------------

    def _pay(self, spent, cost):
        """Record what is spent, before anything is drawn."""
        self._seed_used = True  # noise is drawn from here on, so pickles must not have the seed
        if self.ledger is not None:
            self.ledger.record(spent, cost)

    def _pay_for_labels(self, task, plan):
        """Record what the labels cost, and the rows if this ledger has not recorded them."""
        if task.is_paid:
            return
        self._pay(plan.spent.paid(), task.cost_to_pay(plan, self.ledger))
        if task.synthesis is not None:
            task.synthesis.ledgers.append(self.ledger)

    def _release(self, task, plan, rows, votes, progress):
        """Release labels from the votes on `rows`, after the ledger recorded what they cost."""
        self._pay_for_labels(task, plan)
        self._run_private_test(plan, votes, task.seeds["test"])
        self._start_anew(task, plan)
        n_public = _num_samples(task.X_public)
        released = Release(
            plan.spent.paid(),
            n_public=n_public,
            classes=task.classes,
            class_weight=self.class_weight,
        )
        noise = np.random.default_rng(task.seeds["noise"])
        try:
            if task.is_table:
                release_table(released, plan, votes, noise, task)
            else:
                self._ask(task, plan, rows, votes, released, noise, progress)
        finally:  # labels that were released are paid for, and kept if the rest fails
            self._set_released(released)
            self.curator_ = released.curator(votes, plan, self.delta)
        return released

    def _set_released(self, released):
        """Set what is published of a release."""
        self.privacy_spent_ = released.spent
        self.query_indices_ = released.query_indices
        self.public_labels_ = released.labels
        self.public_soft_labels_ = released.soft_labels
        if released.table is not None:
            self.table_ = released.table

    def _run_private_test(self, plan, votes, seed):
        """Raise `PrivacyTestError` if the plan has a private test and the votes do not pass it."""
        if plan.test is None:
            return
        with Quiet():
            passed = plan.test.passes(votes.counts, np.random.default_rng(seed))
        if passed:
            return
        raise PrivacyTestError(
            "the votes did not pass the private test of accounting='ptr': their labels may cost "
            "more than it allows. No label was released, but the outcome of the test was, so "
            f"epsilon={plan.epsilon:g} is spent (see this error's privacy_spent). Ask fewer "
            "queries, use more noise, raise epsilon, or use accounting='data_independent'",
            plan.spent.paid(),
        )

    def _start_anew(self, task, plan):
        """Forget an earlier fit, and set what is public before any label is released."""
        for name in _NOT_IN_EVERY_FIT:
            self.__dict__.pop(name, None)
        if task.synthesis is not None:
            self.X_synthetic_ = task.synthesis.rows
        # Copies: those of the plan see the votes, and one of the user's may keep them
        mechanisms = [clone(aggregator) for aggregator, _ in plan.stages]
        self.aggregator_ = mechanisms if isinstance(self.aggregator, list) else mechanisms[0]
        self.classes_ = task.classes
        if not task.is_table:
            self.n_teachers_ = task.ballots.n_teachers
        self._rows_asked_about = task.digest
        self.n_features_in_ = task.checked_clone.n_features_in_
        if hasattr(task.checked_clone, "feature_names_in_"):
            self.feature_names_in_ = task.checked_clone.feature_names_in_

    def _ask(self, task, plan, rows, votes, released, noise, progress):
        """Ask the queries of a plan; `released` is filled."""
        student = self._unfitted_student(is_table=False)
        seed = task.seeds["student"]
        with progress.phase("queries", plan.n_queries) as done:
            ask(
                released,
                plan,
                votes,
                rows,
                choice=self._make_choice(task),
                students_view=lambda: students_view(student, task.X_public, released, seed),
                noise=noise,
                on_asked=done,
            )

    # --- learn -------------------------------------------------------------------------------

    def _learn(self, task, released, progress):
        """Train the student on what was released."""
        with progress.phase("student", 1) as done:
            student = self._student_of(released, is_table=task.is_table)
            self.student_ = fit_student(student, task.X_public, released, task.seeds["student"])
            done(1)

    # --- what the student's predictions need -------------------------------------------------

    def _check_predict(self, X):
        check_is_fitted(self)
        X = indexable_rows(X, "X")
        check_features(self, X, "X")
        return X

    @contextlib.contextmanager
    def _columns_said(self, X):
        """Say that the student wants a DataFrame, if it fails on rows without names of columns."""
        try:
            yield
        except Exception as error:
            names = getattr(self, "feature_names_in_", None)
            if names is None or hasattr(X, "columns"):
                raise
            raise ValueError(
                "this classifier was fitted on a DataFrame with columns "
                f"{first_names(list(names))}: pass one; got {type(X).__name__}"
            ) from error

    def _all_columns(self, values, fill):
        n_classes = len(self.classes_)
        return all_columns(values, self.student_.classes_, n_classes=n_classes, fill=fill)

    # --- scikit-learn's protocols ------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return hasattr(self, "student_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        first = RowVectorizer()  # what votes by default begins with it
        if self.base_estimator is not None:
            first = next(iter(make_electorate(self).classifiers()), first)
        tags.input_tags = get_tags(first).input_tags
        tags.input_tags.pairwise = False  # a square kernel matrix cannot be split among teachers
        if self.synthesizer is not None:
            tags.input_tags.sparse = False
        return tags

    def _sk_visual_block_(self):
        """Return the diagram: teachers, aggregator and student, and what was spent."""
        aggregator = getattr(self, "aggregator_", self.aggregator)
        if aggregator is None:
            votes_in_table = isinstance(voters(self), TableElectorate)
            aggregator = table_mechanism(None) if votes_in_table else GNMax(sigma=None)
        n_teachers = getattr(self, "n_teachers_", self.n_teachers)
        teachers = "teachers" if n_teachers is None else f"{n_teachers} teachers"
        classifiers = make_electorate(self).classifiers()
        parts = [(teachers, classifier) for classifier in classifiers]
        if not classifiers:
            parts.append(("electorate", voters(self)))
        if self.synthesizer is not None:
            parts.append(("public rows", self.synthesizer))
        parts += [("aggregator", stage) for stage in _as_list(aggregator)]
        parts.append(("student", getattr(self, "student_", self._unfitted_student())))
        names = [f"{part}: {type(estimator).__name__}" for part, estimator in parts]
        diagram = _VisualBlock("parallel", [estimator for _, estimator in parts], names=names)
        if not hasattr(self, "privacy_spent_"):
            return diagram
        epsilon, delta = self.privacy_spent_
        name = f"privacy spent: epsilon {text_rounded_up(epsilon)}, delta {delta!r}"
        details = repr(self.privacy_spent_)
        spent = _VisualBlock("single", name, names=name, name_details=details)
        return _VisualBlock("serial", [diagram, spent], dash_wrapped=False)

    def _repr_html_inner(self):
        """Return the diagram and, below, what was spent, in words."""
        spent = getattr(self, "privacy_spent_", None)
        return super()._repr_html_inner() + ("" if spent is None else spent._repr_html_())

    def _repr_mimebundle_(self, **kwargs):
        """Return what a notebook shows."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __getstate__(self):
        """Return what a pickle may hold.

        Three things are private: the curator's view, what the estimators given as parameters were
        fitted on before, and the seed once noise was drawn from it.
        """
        state = dict(super().__getstate__())
        state.pop("curator_", None)
        state = own_generators(state)
        for name in [*self._get_param_names(), "aggregator_"]:
            if name in state:
                state[name] = unfitted(state[name])
        if state.pop("_seed_used", False):
            state["random_state"] = None
            state.pop("_skl_callbacks", None)  # objects of the user's, which were called in the fit
        if "student_" in state:  # a model predicts where the teachers' libraries are not installed
            spare = {"base_estimator", "student", "table_"} & set(state)
            state |= {name: Saved.of(state[name]) for name in spare}
        return state

    def __setstate__(self, state):
        saved = {name: part.load() for name, part in state.items() if isinstance(part, Saved)}
        super().__setstate__(state | saved)
        if "X_synthetic_" in state:
            note_drawn(self.X_synthetic_)


def _as_list(given):
    """Return a list that was given as it is, and anything else as a list of one."""
    return given if isinstance(given, list) else [given]


def _is_exact(plan):
    """Whether nothing that a plan draws is rounded."""
    if plan.test is not None:
        return False
    return all(
        stage.is_exact if isinstance(stage, TableMechanism) else facts_of(stage).exact
        for stage, _ in plan.stages
    )
