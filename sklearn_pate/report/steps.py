"""Steps of a privacy statement as sentences, from its `guarantee`; see `rdp.records`."""

from collections.abc import Callable
from typing import Any

from .formats import number, text_rounded_up

#: A record of a step, or a guarantee.
Record = dict[str, Any]


def sentences_of(guarantee: Record, unit: str) -> list[str]:
    """Return a sentence for each step of a guarantee, and for the addition of their costs.

    Parameters
    ----------
    guarantee : dict
        From `rdp.records`.
    unit : str
        As in `PrivacySpent`.

    Returns
    -------
    list of str
    """
    if guarantee["rule"] == "sum":
        parts = [line for part in guarantee["parts"] for line in sentences_of(part, unit)]
        return [*parts, f"Earlier steps choose later ones: in all, {_at(guarantee)}."]
    steps = [_sentence_of(step, unit) for step in guarantee["steps"]]
    if guarantee["rule"] == "propose-test-release":
        test = "A private test of the cost of the votes passed before any label was released."
        return [*steps, f"{test} Together: {_at(guarantee)}."]
    limit = ", the limit for all that the earlier steps could have chosen"
    last = f"The costs of these steps add up to {_at(guarantee)}"
    return [*steps, f"{last}{limit if guarantee.get('is_limit') else ''}."]


def ledger_in_words(ledger: Record) -> str:
    """Return a sentence on earlier fits in the ledger.

    Parameters
    ----------
    ledger : dict
        From `PrivacyLedger.before`.

    Returns
    -------
    str
    """
    limit, before = (_float(ledger[name]) for name in ("epsilon", "epsilon_before"))
    n_fits = ledger["n_fits_before"]
    return (
        f"The ledger of the data had {n_fits} earlier {'fit' if n_fits == 1 else 'fits'} with "
        f"epsilon {text_rounded_up(before)} in all; its limit for all fits is epsilon "
        f"{text_rounded_up(limit)} at delta {_float(ledger['delta'])!r}."
    )


def _at(guarantee: Record) -> str:
    """Return the epsilon and delta of a guarantee, in words."""
    epsilon, delta = _float(guarantee["epsilon"]), _float(guarantee["delta"])
    return f"epsilon {text_rounded_up(epsilon)} at delta {delta if delta else 0}"


def _float(text: str) -> float:
    return float.fromhex(text)


def _sentence_of(step: Record, unit: str) -> str:
    """Return a sentence on one step."""
    return f"{step['name']}: {_WORDS[step['mechanism']](step, unit)}"


def _laplace(step: Record, unit: str) -> str:
    scale = 1 / _float(step["inverse_scale"])
    l1 = _float(step["contribution"]["l1"])
    changes = f"One {unit} changes the numbers by at most {number(l1)} in all."
    level = ""
    if "threshold" in step:
        level = (
            f" A label is published from {number(_float(step['threshold']['level']))} on; delta "
            f"{_float(step['delta']):.3g} bounds the probability that a label of one {unit} is."
        )
    return f"Laplace noise of scale {number(scale)} on each number. {changes}{level}"


def _gaussian(step: Record, unit: str) -> str:
    scale, change = _float(step["scale"]), _float(step["contribution"]["l2_squared"]) ** 0.5
    times = "" if step["count"] == 1 else f", {step['count']} times"
    noise = f"Gaussian noise of standard deviation {number(scale)} on each number{times}"
    level = ""
    if "threshold" in step:
        level = (
            f" A text is published above a threshold; delta {_float(step['delta']):.3g} bounds the "
            f"probability that a text of one {unit} is."
        )
    return f"{noise}. One {unit} changes the numbers by at most {number(change)} in L2 norm.{level}"


def _argmax(step: Record, unit: str) -> str:
    size = f"scale {number(1 / _float(step['inverse_scale']))}" if "inverse_scale" in step else ""
    size = size or f"standard deviation {number(_float(step['scale']))}"
    check = ""
    if "check_scale" in step:
        noise = number(_float(step["check_scale"]))
        check = f", after a check of the agreement with noise of standard deviation {noise}"
    return (
        f"the class with the largest vote count is released, with {step['noise'].title()} noise of "
        f"{size} on each count{check}. One {unit} changes two counts of a query by at most "
        f"{number(_float(step['contribution']['linf']))} each."
    )


def _sparse_vector(step: Record, unit: str) -> str:
    return (
        f"exact answers to stable queries, in {step['n_runs']} runs of noisy comparisons of "
        f"epsilon {number(_float(step['run_epsilon']))} each."
    )


def _stated(step: Record, unit: str) -> str:
    return "a release with a proof of its own, which the statement does not contain."


def _filter(step: Record, unit: str) -> str:
    inside = "; ".join(_sentence_of(part, unit) for part in step["steps"])
    limit, order = number(_float(step["limit"])), number(_float(step["order"]))
    return f"Renyi cost {limit} at order {order}. {inside}"


def _best_of_trials(step: Record, unit: str) -> str:
    n_candidates = sum(part["count"] for part in step["candidates"])
    first = "; ".join(_sentence_of(part, unit) for part in step["candidates"][0]["steps"])
    mean = number(_float(step["mean"]))
    return f"{mean} trials on average, of {n_candidates} candidates. The first one: {first}"


def _one_of_several(step: Record, unit: str) -> str:
    branches = ["; ".join(_sentence_of(part, unit) for part in each) for each in step["branches"]]
    return " Or: ".join(branches)


#: The words for each mechanism.
_WORDS: dict[str, Callable[[Record, str], str]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "noisy argmax": _argmax,
    "sparse vector": _sparse_vector,
    "stated": _stated,
    "filter": _filter,
    "best of trials": _best_of_trials,
    "one of several": _one_of_several,
}
