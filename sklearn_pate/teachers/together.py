"""Networks of skorch: those that are refused as teachers, and those that are trained together."""

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..exceptions import warn
from ..isolation import isolated, own_clone, redacted, set_seeds, silent
from ..memory import is_kept
from .one import Result, constant_votes, failure, votes_of
from .sites import Sites


def check_callbacks(estimator):
    """Refuse callbacks of skorch that use files: teachers would read each other's."""
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
                    "that teachers would share. EarlyStopping(load_best=True) uses none"
                )


def _leaves(value):
    """Yield what lists, tuples and dicts hold, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def batched_network(estimators, X, X_query, timeout):
    """Return the network whose copies are to be trained together, or None."""
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
        reason = "base_estimator is a list"
    elif isinstance(X, Sites):
        reason = "the data of sites stay with their workers"
    elif timeout is not None:
        reason = "timeout is for one teacher at a time"
    else:
        reason = batched.why_not(X, X_query)
    if reason is not None:
        warn(f"teachers are trained one by one, not together: {reason}")
        return None
    return batched


class _Place(NamedTuple):
    """The place of a teacher in joint training.

    Attributes
    ----------
    number : int
        Of the teacher.
    result : Result or None
        Its result, where nothing needs to be trained.
    classes : ndarray or None
        The labels that its outputs stand for.
    keep_it : callable or None
        Puts its votes into memory; says whether they are there.
    """

    number: int
    result: Result | None = None
    classes: np.ndarray | None = None
    keep_it: Callable | None = None


def train_together(batched, tasks, X_query, settings):
    """Train teachers together, in this process, and yield the `Result` of each."""
    number = None  # of the teacher that was prepared last: it failed, or one of its stack did
    is_soft = settings.temperature is not None

    def trainees():
        nonlocal number
        for part, task in tasks:
            number = task.number
            yield _trainee(task._replace(part=part), batched)

    interrupted = False
    try:
        # File descriptors stay as they are, because progress is shown meanwhile
        with isolated(0, descriptors=False):
            trained = batched.train(trainees(), X_query, proba=is_soft, keep=settings.keep)
            for place, voted, fitted in trained:
                if place.result is not None:
                    yield place.result
                    continue
                votes = votes_of(voted, place.classes, X_query, settings)
                is_there = place.keep_it((votes, fitted))
                yield Result(place.number, votes, fitted, is_kept=is_there)
    except GeneratorExit:  # whoever takes the results has stopped
        raise
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as error:
        yield failure(number, f"or one trained with it: {redacted(error)}")
    if interrupted:
        raise KeyboardInterrupt


def _trainee(task, batched):
    """Return what `BatchedTeachers.train` takes; without a network if the votes are known."""
    settings = task.settings
    X, codes, _ = task.part
    constant = constant_votes(task)
    recall = task.memory.cache(_recall, ignore=["result"])
    try:
        known = recall(task.key, None) if constant is None else (constant,)
        return _Place(task.number, Result(task.number, *known)), task.seed
    except KeyError:  # it is to be trained
        pass
    network = own_clone(batched.estimator, task.seed, functions=not settings.keep)
    silent(set_seeds(network, task.seed))
    place = _Place(
        task.number,
        classes=network.classes if network.classes is not None else np.unique(codes),
        keep_it=partial(_keep, task.memory, recall, task.key),
    )
    return place, task.seed, network, X, codes


def _recall(key, result):
    """Return the result given: memory calls this only where it has none for the key.

    So with None it looks a key up, and what it has not raises; with a result it keeps that.
    """
    if result is None:
        raise KeyError
    return result


def _keep(memory, recall, key, result):
    """Put a result into memory; say whether it is there."""
    recall(key, result)
    return is_kept(memory, recall, key, result)
