"""Synthesizer of a fit without public rows: its columns, and its fraction of epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from .. import rules
from .._sklearn import _num_samples
from ..accounting.budget import as_cap
from ..methods.choose import PublicCounts
from ..rdp import gdp_mu
from ..runtime.isolation import is_ours, redacted, suppress_output
from ..runtime.memory import private_memory
from ..runtime.sites import has_groups
from ..synthesis import ClassSumsSynthesizer, MarginalSynthesizer, Schema
from ..teachers import Sites

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..encoding.targets import Target
    from .first_release import FirstRelease


def declared_synthesizer(estimator: Estimator, X: Rows, X_public: Rows) -> Any:
    """Clone an estimator's synthesizer, and call `declare` on the clone.

    Return None if public rows are given and `synthesizer` is None, or if X is `Sites`.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator with the parameter `synthesizer`; None means `ClassSumsSynthesizer()`.
    X : array-like with n_samples rows
        Private rows.
    X_public : array-like or None
        As given by the user. It must be None if there is a synthesizer.
    """
    if estimator.synthesizer is None and X_public is not None:
        return None
    if isinstance(X, Sites):
        return None  # `_check_sites` refuses synthesizers
    if isinstance(estimator.synthesizer, type):
        name = estimator.synthesizer.__name__
        raise TypeError(f"synthesizer must be an instance, {name}(...); got the class")
    check_no_public(X_public)
    default = ClassSumsSynthesizer()
    synthesizer = clone(default if estimator.synthesizer is None else estimator.synthesizer)
    if estimator.schema is not None:
        _declare_columns(synthesizer, estimator.schema, X)
    if estimator.target_type.splits_votes and not is_ours(synthesizer):
        raise ValueError(
            f"{type(synthesizer).__name__} counts labels of classes, and the labels of "
            f"{type(estimator).__name__} are split: use ClassSumsSynthesizer or MarginalSynthesizer"
        )
    _declare(synthesizer, X, estimator._declared_target())
    if isinstance(synthesizer, ClassSumsSynthesizer | MarginalSynthesizer):
        synthesizer.n_jobs = estimator.n_jobs
        synthesizer.memory = private_memory(estimator.memory)
    return synthesizer


def sums_fraction(synthesizer: Any) -> float | None:
    """Return the fraction of epsilon for class sums: None if not set, 0 without class sums."""
    return synthesizer.epsilon_fraction if isinstance(synthesizer, ClassSumsSynthesizer) else 0.0


def counts_of(
    estimator: Estimator,
    synthesizer: Any,
    X: Rows,
    groups: ArrayLike | None,
    first_release: FirstRelease | None = None,
) -> PublicCounts | None:
    """Return the public numbers that determine the method of a fit without public rows.

    Return None if the synthesizer is not a `ClassSumsSynthesizer`.
    """
    if not isinstance(synthesizer, ClassSumsSynthesizer):
        return None
    size_is_private = getattr(estimator.method, "size_is_private", False)
    is_public = (
        not has_groups(X, groups) and estimator.partition == "random" and not size_is_private
    )
    target = estimator._declared_target()
    n_records = _num_samples(X) if is_public else None
    epsilon, delta = as_cap(estimator.epsilon, estimator.delta)
    epsilon = 1.0 if epsilon is None else epsilon
    of_all, of_rows = (
        synthesizer.chosen_within(n_records=n_records, mu=gdp_mu(part * epsilon, delta))
        for part in (1.0, rules.default_sums_fraction())
    )
    return PublicCounts(
        n_records=n_records,
        n_classes=0 if target is None else target.max_n_values,
        n_targets=1 if target is None else target.n_targets,
        n_columns=synthesizer.n_columns,
        has_schema=not synthesizer.reads_by_value,
        estimates_need_all=bool(of_all) and not of_rows,
        n_encoded=synthesizer.n_encoded,
        rarest_share=None if first_release is None else first_release.rarest_share,
        numeric_share=None if first_release is None else first_release.numeric_share,
    )


def set_fraction(synthesizer: Any, *, reads_sums: bool, is_search: bool = False) -> None:
    """Set the default fraction of epsilon for class sums, and check the fraction.

    Parameters
    ----------
    synthesizer : Synthesizer
        Synthesizer after a call of `declare`. Changed in place.
    reads_sums : bool
        Whether the model is computed from the published class sums, so that no record votes. The
        fraction must then be 1, and otherwise below 1.
    is_search : bool, default=False
        Whether a private search draws the rows. Its trials require a fraction of epsilon.

    Raises
    ------
    ValueError
        If the fraction does not fit the method.
    """
    has_sums = isinstance(synthesizer, ClassSumsSynthesizer)
    name = type(synthesizer).__name__
    if has_sums and synthesizer.epsilon_fraction is None:
        synthesizer.epsilon_fraction = 1.0 if reads_sums else rules.default_sums_fraction()
    if reads_sums and not (has_sums and synthesizer.epsilon_fraction == 1):
        raise ValueError(
            "method='sums' without public rows uses all of epsilon for class sums: leave "
            "synthesizer=None, or give ClassSumsSynthesizer(epsilon_fraction=1.0); got "
            f"{name} with epsilon_fraction={getattr(synthesizer, 'epsilon_fraction', None)!r}"
        )
    if not reads_sums and getattr(synthesizer, "epsilon_fraction", None) == 1:
        or_else = ", or use method='sums', which has no votes" if has_sums else ""
        if is_search:
            or_else = ", because each trial of a search requires votes"
        raise ValueError(
            f"epsilon_fraction=1 of {name} leaves no epsilon for votes: set epsilon_fraction "
            f"below 1{or_else}"
        )


def _declare(synthesizer: Any, X: Rows, target: Target | None) -> None:
    """Call `declare`; suppress the output of a user's class, and redact its errors."""
    if is_ours(synthesizer):
        synthesizer.declare(X, target)
        return
    with suppress_output():
        redacted(
            lambda: synthesizer.declare(X, target),
            f"declare of {type(synthesizer).__name__} failed with",
            "Nothing was spent. To read the text, call declare(X, target) yourself",
        )


def _declare_columns(synthesizer: Any, schema: Any, X: Rows) -> None:
    """Set the columns of a synthesizer of the library from the schema."""
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    name = type(synthesizer).__name__
    if not isinstance(synthesizer, ClassSumsSynthesizer | MarginalSynthesizer):
        raise ValueError(f"schema is for synthesizers of this library, not for {name}")
    declared = [
        p for p in ("bounds", "categories", "missing") if getattr(synthesizer, p) is not None
    ]
    if declared:
        raise ValueError(
            f"columns are declared twice, by schema and by {declared[0]} of {name}: give only one"
        )
    synthesizer.set_params(**schema.parameters(X))


def check_no_public(X_public: Rows) -> None:
    """Raise an error if `X_public` is given in addition to a synthesizer."""
    if X_public is not None:
        raise ValueError(
            "X_public and synthesizer are two ways to have public rows: give X_public and "
            "synthesizer=None, or give no X_public"
        )
