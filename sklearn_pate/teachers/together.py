"""Networks that are trained together, in this process."""

import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from .._sklearn import _num_samples
from ..exceptions import warn
from ..isolation import (
    isolated,
    own_clone,
    redacted,
    set_seeds,
    silent,
)
from .one import Result, check_voted, compact, constant_votes, is_kept, shares_of
from .sites import Sites

__all__ = ["batched_network", "train_together"]


def batched_network(estimators, X, X_query, timeout):
    """Return the network whose copies are to be trained together, or None."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return None
    from ..batched import BatchedTeachers

    batched, *others = estimators
    network = isinstance(batched, skorch.NeuralNetClassifier)
    if network and str(batched.device).startswith("cuda") and not others:
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


class _Part(NamedTuple):
    """A teacher on its way through joint training.

    Attributes
    ----------
    number : int
        Of the teacher.
    known : tuple or None
        Votes, and the fitted teacher if kept, where nothing needs to be trained.
    classes : ndarray or None
        The labels that its outputs stand for.
    keep_it : callable or None
        Puts its votes into memory; says whether they are there.
    """

    number: int
    known: tuple | None
    classes: np.ndarray | None = None
    keep_it: Callable | None = None


def train_together(batched, tasks, X_query, *, n_classes, temperature, keep):
    """Yield the `Result` of each of the teachers that are trained together, in this process.

    `tasks` are the arguments of `fit_and_vote`.
    """
    i, n_queries = None, _num_samples(X_query)

    def parts():
        nonlocal i
        for i, _, data, settings, _, memory, key in tasks:
            X, codes, *_ = data
            constant = constant_votes(i, codes, n_queries, settings)
            if constant is not None:
                yield _Part(i, (constant, None)), None, settings.seed, None, None
                continue
            recall = memory.cache(_recall, ignore=["result"])
            try:
                yield _Part(i, recall(key, None)), None, settings.seed, None, None
            except KeyError:
                network = own_clone(batched.estimator, settings.seed, functions=not keep)
                silent(set_seeds(network, settings.seed))
                classes = network.classes if network.classes is not None else np.unique(codes)
                keep_it = partial(_keep, memory, recall, key)
                yield _Part(i, None, classes, keep_it), network, settings.seed, X, codes

    interrupted = False
    try:
        # Not below Python's streams: progress is shown meanwhile
        with isolated(0, descriptors=False):
            trained = batched.train(parts(), X_query, proba=temperature is not None, keep=keep)
            for part, voted, fitted in trained:
                if part.known is not None:
                    yield Result(part.number, *part.known)
                    continue
                if temperature is None:
                    voted = compact(
                        check_voted(voted, n_queries=n_queries, n_classes=n_classes),
                        n_classes=n_classes,
                    )
                else:
                    voted = shares_of(
                        voted, part.classes, n_classes=n_classes, temperature=temperature
                    )
                is_there = part.keep_it((voted, fitted))
                yield Result(part.number, voted, fitted, is_kept=is_there)
    except GeneratorExit:
        raise
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as error:
        yield Result(i, None, problem=f"or one beside it: {redacted(error)}")
    if interrupted:
        raise KeyboardInterrupt


def _recall(key, result):
    """Return the result that is in memory for the key, else the one given, which then is."""
    if result is None:
        raise KeyError
    return result


def _keep(memory, recall, key, result):
    recall(key, result)
    return is_kept(memory, recall, key, result)
