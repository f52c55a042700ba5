"""Training and votes of teachers, one at a time in workers, or networks together."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import cloudpickle
import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike
from sklearn import config_context
from sklearn.utils.validation import has_fit_parameter

from .._sklearn import _num_samples, learns_columns_only, learns_several
from ..encoding.targets import Target
from ..exceptions import warn
from ..rdp.discrete import TICKS
from ..runtime.copies import copied_data, isolated_clone, set_seeds, without_caches
from ..runtime.isolation import (
    PublicError,
    attempt,
    isolated,
    limit_threads,
    redacted_text,
    silent,
    suppress_output,
)
from ..runtime.memory import digest, is_cached
from .sites import Site, Sites

if TYPE_CHECKING:
    from .._typing import Estimator, Rows


class Settings(NamedTuple):
    """Settings of all teachers of a fit.

    Attributes
    ----------
    target : targets.Target
        The values that teachers vote for.
    temperature : float or None
        Temperature of probabilities; None for votes.
    keep : bool
        Whether the fitted teachers are returned.
    threads : int or None
        Largest number of threads of a teacher; None is no limit.
    config : dict
        scikit-learn's configuration in the process that called `fit`.
    timeout : float or None
        Largest number of seconds for a teacher to fit and vote; None is no limit.
    caller : int or None
        Id of the process that called `fit`; None if it is not known.
    """

    target: Target
    temperature: float | None
    keep: bool = False
    threads: int | None = None
    config: dict[str, Any] = {}
    timeout: float | None = None
    caller: int | None = None

    @property
    def needs_proba(self) -> bool:
        """Whether votes are computed from probabilities, not from predictions."""
        return self.temperature is not None and not self.target.splits_votes


class Part(NamedTuple):
    """The private records of one teacher.

    Attributes
    ----------
    X : array-like, Site or None
        Features, or a site that loads them with their codes; None without records.
    codes : ndarray or None
        Labels as codes; None with a `Site`.
    weight : array-like or None
        Weights of the records, for a teacher that accepts them.
    """

    X: Any
    codes: np.ndarray | None
    weight: Any = None


class Task(NamedTuple):
    """The input of a worker that trains one teacher.

    Attributes
    ----------
    number : int
        Number of the teacher.
    estimator : estimator
        The unfitted estimator, shared with other teachers.
    X_query : array-like with n_queries rows
        Public points to vote on.
    seed : int
        Seed of this teacher. The partition, the queries and the noise have other seeds, which
        workers do not receive.
    settings : Settings
        Settings that all teachers share.
    memory : joblib.Memory
        Cache of the votes.
    key : tuple
        Key of the votes in memory.
    part : Part or None
        Records of the teacher; None until `fit_and_vote` gets them.
    """

    number: int
    estimator: Any
    X_query: Any
    seed: int
    settings: Settings
    memory: Memory = Memory(None)
    key: tuple[Any, ...] = ()
    part: Part | None = None

    @property
    def records(self) -> Part:
        """The attribute `part`, which must not be None."""
        if self.part is None:
            raise ValueError(f"teacher {self.number} has no part of the records yet")
        return self.part


class Result(NamedTuple):
    """The output of a worker for one teacher.

    Attributes
    ----------
    number : int
        Number of the teacher.
    votes : ndarray, list of ndarray or None
        Codes of labels, or ticks of probability; None if the teacher failed. For several targets, a
        list with the votes for each.
    fitted : estimator, bytes, list of these or None
        The fitted teacher, or its pickle for `received`; None if teachers are not kept. A list if
        there is one for each of several targets; an entry is None if its target needed no fit.
    problem : str or None
        Public description of a failure; None if there is no failure.
    is_cached : bool
        False if memory is used and could not store the votes.
    """

    number: int
    votes: Any = None
    fitted: Any = None
    problem: str | None = None
    is_cached: bool = True


def failure(number: int, problem: str) -> Result:
    """Return the `Result` of a teacher that failed."""
    advice = (
        ". Preprocessing that teachers need (an encoder, an imputer) belongs inside base_estimator"
    )
    if "\n" in problem:  # the problem ends with code of a remedy
        advice = ""
    return Result(number, problem=f"teacher {number} failed: {problem}{advice}")


def fit_and_vote(part: Part, task: Task) -> Result:
    """Train one teacher on its records, or load its cached votes, and return its `Result`."""
    settings = task.settings
    # In the caller's process `add_up` has suppressed the output of all threads already
    with contextlib.nullcontext() if os.getpid() == settings.caller else suppress_output():
        # A failure is returned, not raised, as a traceback would contain the teacher's own text
        interrupted = False
        try:
            task = _loaded(task._replace(part=part))
            constant = constant_votes(task)
            if constant is not None:
                return Result(task.number, constant)
            train = task.memory.cache(_train, ignore=["task"])
            votes, fitted = _call_within(settings.timeout, train, task.key, task)
            kept = is_cached(task.memory, train, task.key, task)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException as error:  # also SystemExit, as its text may contain data
            return failure(task.number, redacted_text(error, task.estimator))
        if interrupted:  # raised here, so that it does not refer to the caught error
            raise KeyboardInterrupt
    return Result(task.number, votes, fitted, is_cached=kept)


def _call_within(seconds: float | None, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a thread, and raise a TimeoutError after some seconds.

    If `seconds` is None, there is no limit and no thread. After the error, the thread runs until
    its process ends. Until then, the output of this worker process is suppressed, and the next
    teacher in it waits.
    """
    if seconds is None:
        return function(*args)
    future: Future[Any] = Future()

    def run() -> None:
        try:
            with suppress_output():  # outlasts the caller's own context if this thread is abandoned
                result = function(*args)
            future.set_result(result)
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([future], min(float(seconds), threading.TIMEOUT_MAX)).done:
        raise TimeoutError("it took longer than timeout")
    return future.result()


def _loaded(task: Task) -> Task:
    """Load the data of a task's site, and add their digest to its cache key.

    A task without a site is returned unchanged.
    """
    site = task.records.X
    if not isinstance(site, Site):
        return task
    with isolated(task.seed), config_context(**task.settings.config):
        X, codes = site.read(task.X_query)
    key: Any = None if task.memory.location is None else (*task.key, digest(X, codes))
    return task._replace(part=Part(X, codes), key=key)


def _train(key: Any, task: Task) -> tuple[Any, Any]:
    """Fit a teacher; return its votes, and the teacher if it is kept.

    joblib's `Memory` caches this result by `key` alone.
    """
    had_torch = "torch" in sys.modules
    result = fit_and_predict(task)
    if "torch" in sys.modules and not had_torch:
        # Torch could not be seeded before this fit imported it. The teacher that imports it first
        # may depend on the records of other teachers, so the fit is repeated with torch seeded
        result = fit_and_predict(task)
    return result


def fit_and_predict(task: Task) -> tuple[Any, Any]:
    """Fit a teacher, and return its votes, and the teacher itself if it is kept.

    For several targets, the votes are a list with the votes for each. An estimator that learns
    several targets at once is fitted once, and any other for each target. A target with one value
    among the records of the teacher gets constant votes, and is left out of the fit.
    """
    if task.settings.target.n_targets == 1:
        return _fit_in_isolation(task)
    tasks = _tasks_by_target(task)
    votes = [constant_votes(each) for each in tasks]
    varying = [number for number, known in enumerate(votes) if known is None]
    if learns_several(task.estimator):
        is_column = len(varying) == 1 and learns_columns_only(task.estimator)
        together, fitted = _fit_in_isolation(_of_some_targets(task, varying), is_column)
        for number, own in zip(varying, together if len(varying) > 1 else [together], strict=True):
            votes[number] = own
        return votes, fitted
    teachers: list[Any] = [None] * len(tasks)
    for number in varying:
        votes[number], teachers[number] = _fit_in_isolation(tasks[number])
    return votes, teachers if task.settings.keep else None


def _tasks_by_target(task: Task) -> list[Task]:
    """Return a task for each of several targets, with a seed of its own."""
    X, weight = task.records.X, task.records.weight
    codes: Any = task.records.codes
    seeds = [np.random.SeedSequence([task.seed, number]) for number in range(np.shape(codes)[1])]
    return [
        task._replace(
            seed=int(seed.generate_state(1)[0]) % 2**31,
            settings=task.settings._replace(target=part),
            part=Part(X, own, weight),
        )
        for part, own, seed in zip(
            task.settings.target.parts, np.transpose(codes), seeds, strict=True
        )
    ]


def _of_some_targets(task: Task, numbers: list[int]) -> Task:
    """Return the task of a teacher for some of several targets, by their numbers."""
    X, codes, weight = task.records
    target = Target.of_parts([task.settings.target.parts[number] for number in numbers])
    own = np.asarray(codes)[:, numbers]
    return task._replace(
        settings=task.settings._replace(target=target),
        part=Part(X, own if len(numbers) > 1 else own[:, 0], weight),
    )


def _fit_in_isolation(task: Task, is_column: bool = False) -> tuple[Any, Any]:
    """Fit a teacher for all targets of a task at once; see `fit_and_predict`.

    If `is_column`, `y` of a single target has two axes, for an estimator that accepts no other.
    """
    settings = task.settings
    with isolated(task.seed), config_context(**settings.config):
        # Their side effects end within the block
        votes, fitted = _votes_and_teacher(task, is_column)
        is_pickled = task.memory.location is not None or os.getpid() != settings.caller
        if fitted is not None and is_pickled:
            fitted = pickled(fitted)
    return votes, fitted


def _votes_and_teacher(task: Task, is_column: bool) -> tuple[Any, Any]:
    """Run the steps of `_fit_in_isolation` in the isolated block."""
    settings = task.settings
    # Kept teachers must pickle, which copied functions of the main program do not
    fitted = isolated_clone(task.estimator, task.seed, functions=not settings.keep)
    set_seeds(fitted, task.seed)
    silent(fitted)
    without_caches(fitted)
    limit_threads(fitted, settings.threads)
    # Copies, because a teacher that writes to the queries would change the votes of others, and
    # parts that joblib maps from disk are read-only
    part, X_query = copied_data((task.part, task.X_query))
    weights = {}
    if part.weight is not None and has_fit_parameter(fitted, "sample_weight"):
        weights["sample_weight"] = part.weight
    y = settings.target.teacher_values(part.codes)
    fitted.fit(part.X, y[:, None] if is_column else y, **weights)
    if settings.needs_proba:
        answered, classes = fitted.predict_proba(X_query), fitted.classes_
        if is_column:
            answered, classes = answered[0], classes[0]
    else:
        answered, classes = fitted.predict(X_query), None
        if is_column:
            answered = np.ravel(answered)
    votes = votes_of(answered, classes, task.X_query, settings)
    return votes, fitted if settings.keep else None


# --- votes: codes of labels, or ticks of probability ---------------------------------------------


def constant_votes(task: Task) -> Any:
    """Return the votes of a teacher without records or with one class, else None.

    For several targets, they are a list with the votes for each, if none requires a fit.
    """
    if task.settings.target.n_targets > 1:
        votes = [constant_votes(each) for each in _tasks_by_target(task)]
        return None if any(known is None for known in votes) else votes
    settings, n_queries = task.settings, _num_samples(task.X_query)
    target = settings.target
    present = np.unique(np.asarray(task.records.codes))
    if present.size > 1:
        return None
    # Without records the vote depends on the teacher's number, which is public
    code = present[0] if present.size else target.code_without_records(task.number)
    if settings.needs_proba:
        return votes_of(np.ones((n_queries, 1)), [code], task.X_query, settings)
    return target.votes_at(np.full(n_queries, code))


def votes_of(answered: Any, classes: Any, X_query: Rows, settings: Settings) -> Any:
    """Return the predictions of a teacher, or its probabilities, as votes.

    For several targets, predictions are columns and probabilities are a list, as in scikit-learn,
    and the result is a list with the votes for each.
    """
    n_queries = _num_samples(X_query)
    parts = settings.target.parts
    if len(parts) > 1:
        if settings.needs_proba:
            is_valid = isinstance(answered, list) and len(answered) == len(parts) == len(classes)
            columns = answered
        else:
            is_valid = np.shape(answered) == (n_queries, len(parts))
            columns, classes = np.transpose(answered), [None] * len(parts)
        if not is_valid:
            raise PublicError(
                "predict of a teacher of several targets must return one column for each target, "
                "and predict_proba a list with the probabilities of each"
            )
        return [
            votes_of(own, seen, X_query, settings._replace(target=part))
            for part, own, seen in zip(parts, columns, classes, strict=True)
        ]
    if not settings.needs_proba:
        return settings.target.votes_of(answered, n_queries)
    if np.shape(answered)[:1] != (n_queries,):
        raise PublicError("predict_proba must return one row of probabilities per row")
    sizes: dict[str, Any] = {
        "n_classes": settings.target.n_values,
        "temperature": settings.temperature,
    }
    return probability_shares(answered, classes, **sizes)


def probability_shares(
    proba: ArrayLike, classes: Any, *, n_classes: int, temperature: float
) -> np.ndarray:
    """Return probabilities at a temperature in ticks; each row sums to less than `TICKS`."""
    proba = np.asarray(proba, dtype=float)
    if proba.ndim != 2 or proba.shape[1] != len(classes) or not (proba >= 0).all():
        raise PublicError(
            "predict_proba must return probabilities, a column for each class of the records"
        )
    tempered = proba ** (1 / float(temperature))  # a Fraction would give an array of objects
    sums = tempered.sum(axis=1, keepdims=True)
    if not (np.isfinite(sums) & (sums > 0)).all():
        raise PublicError("predict_proba returned rows that are not probabilities")
    shares = np.zeros((len(proba), n_classes), dtype=np.int64)
    columns = np.asarray(classes).astype(np.intp)
    # Rounded down, with one tick less, so that rounding cannot take the sum of a row above 1
    shares[:, columns] = np.floor(tempered / sums * (TICKS - 1))
    return shares


# --- transfer of kept teachers from a worker, or to and from memory ------------------------------


class _ByName:
    """Mixin of picklers that pickle classes and functions of the script by name.

    Cloudpickle alone would pickle them by value. Unpickling would then overwrite the state of a
    class in the script with its state in a worker.
    """

    def persistent_id(self, obj: Any) -> Any:
        is_of_script = (
            isinstance(obj, type | types.FunctionType)
            and obj.__module__ == "__main__"
            and "<" not in obj.__qualname__  # a lambda, or within a function
        )
        return obj.__qualname__ if is_of_script else None


class _Pickler(_ByName, pickle.Pickler):
    """Pickler of objects whose classes and functions can be imported by name."""


class _CloudPickler(_ByName, cloudpickle.Pickler):
    """Pickler that also pickles lambdas, and definitions within functions, by value."""


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: str) -> Any:
        return attrgetter(name)(sys.modules["__main__"])


def pickled(fitted: Any) -> bytes:
    """Return a fitted teacher as bytes; call this function within `isolated`.

    joblib would pickle the teacher outside of `isolated`. If this failed, joblib would stop all
    workers, even while they send results, and workers of multiprocessing may then wait for each
    other forever.
    """
    for pickler in (_Pickler, _CloudPickler):  # by value if there is no name
        file = io.BytesIO()
        _, failed = attempt(partial(pickler(file).dump, fitted))
        if failed is None:
            return file.getvalue()
    raise PublicError(_not_changed(str(failed)))  # raised, so that memory does not cache it


def received(fitted: Any) -> tuple[Any, str | None]:
    """Return the fitted teacher of a `Result`, and a message if it could not be loaded."""
    if isinstance(fitted, list):
        teachers, problems = zip(*map(received, fitted), strict=True)
        return list(teachers), next((each for each in problems if each is not None), None)
    if not isinstance(fitted, bytes):
        return fitted, None
    with isolated(0):
        teacher, failed = attempt(_Unpickler(io.BytesIO(fitted)).load)
    return teacher, None if failed is None else _not_changed(failed)


def _not_changed(failed: str) -> str:
    return (
        f"it could not be sent back by a worker process, or kept in memory ({failed}). With "
        "keep_teachers=True all its objects must be picklable and importable: define them in a "
        "module, or use n_jobs=1 and memory=None"
    )


# --- networks of skorch: a check of callbacks, and training of teachers together ------------------


def check_callbacks(estimator: Estimator) -> None:
    """Raise an error for skorch callbacks that use files, because teachers would share them."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return
    callbacks = skorch.callbacks
    use_files = (callbacks.Checkpoint, callbacks.TrainEndCheckpoint, callbacks.LoadInitState)
    for name, value in estimator.get_params(deep=True).items():
        for part in _leaves(value):
            kind = part if isinstance(part, type) else type(part)
            if issubclass(kind, use_files):
                raise ValueError(
                    f"{name} of base_estimator has a {kind.__name__}, which writes or reads files "
                    "that teachers would share. Use EarlyStopping(load_best=True), which needs no "
                    "files"
                )


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the elements of lists, tuples and dicts, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def batched_network(
    estimators: list[Estimator],
    X: Rows,
    X_query: Rows,
    timeout: float | None,
    n_targets: int = 1,
) -> Any:
    """Return the `BatchedTeachers` if teachers can be trained together, else None."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return None
    from .batched import BatchedTeachers

    batched, *others = estimators
    is_network = isinstance(batched, skorch.NeuralNetClassifier)
    if is_network and str(batched.device).startswith("cuda") and not others:
        batched = BatchedTeachers(batched)
    if not isinstance(batched, BatchedTeachers):
        return None
    if others:
        reason: str | None = "base_estimator is a list"
    elif isinstance(X, Sites):
        reason = "the data of sites stay with their workers"
    elif n_targets > 1:
        reason = "y has several targets"
    elif timeout is not None:
        reason = "timeout is for one teacher at a time"
    else:
        reason = batched.why_not(X, X_query)
    if reason is not None:
        warn(f"teachers are trained one by one, not together: {reason}")
        return None
    return batched


def train_together(
    batched: Any, tasks: Iterable[tuple[Part, Task]], X_query: Rows, settings: Settings
) -> Iterator[Result]:
    """Train teachers together, in this process, and yield the `Result` of each."""
    number: Any = None  # of the last prepared teacher: a failure is from it or from its stack

    def trainees() -> Iterator[tuple[Any, ...]]:
        nonlocal number
        for part, task in tasks:
            number = task.number
            yield _trainee(task._replace(part=part), batched)

    interrupted = False
    try:
        # File descriptors are not redirected, because progress is printed at the same time
        with isolated(0, descriptors=False):
            how = {"proba": settings.needs_proba, "keep": settings.keep}
            trained = batched.train(trainees(), X_query, **how)
            for result_of, voted, fitted in trained:
                yield result_of(voted, fitted)
    except GeneratorExit:  # the consumer of the results has stopped
        raise
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as error:
        yield failure(number, f"or one trained with it: {redacted_text(error)}")
    if interrupted:
        raise KeyboardInterrupt


def _trainee(task: Task, batched: Any) -> tuple[Any, ...]:
    """Return the tuple that `BatchedTeachers.train` takes for a teacher.

    The first element, its key, is a function that takes the output of `train` and returns a
    `Result`. For a trained teacher, this function also caches the votes and the fitted teacher. The
    tuple has no network if the votes are cached, or if the teacher has at most one class; the
    function then ignores its arguments and returns the known votes.
    """
    settings = task.settings
    X, codes, _ = task.records
    constant = constant_votes(task)
    recall = task.memory.cache(_recall, ignore=["result"])
    try:
        known = recall(task.key, None) if constant is None else (constant,)
        return lambda *_: Result(task.number, *known), task.seed
    except KeyError:  # the teacher must be trained
        pass
    network = isolated_clone(batched.estimator, task.seed, functions=not settings.keep)
    silent(set_seeds(network, task.seed))
    classes = network.classes if network.classes is not None else np.unique(np.asarray(codes))

    def result_of(voted: np.ndarray, fitted: Any) -> Result:
        votes = votes_of(voted, classes, task.X_query, settings)
        recall(task.key, (votes, fitted))
        is_there = is_cached(task.memory, recall, task.key, (votes, fitted))
        return Result(task.number, votes, fitted, is_cached=is_there)

    return result_of, task.seed, network, X, codes


def _recall(key: Any, result: Any) -> Any:
    """Return the given result; memory calls this function only if it has no result for the key.

    So a call with None returns the cached result, or raises a KeyError if there is none. A call
    with a result stores the result.
    """
    if result is None:
        raise KeyError
    return result
