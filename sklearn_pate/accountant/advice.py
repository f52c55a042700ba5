"""What to say of a plan that will hardly work, and what would help: for warnings and reports."""

import math

#: Labels of a class from which a student learns something of it.
_FEW_LABELS = 10

#: Too few labels are right, if not so many are where this share of the teachers agrees.
_AGREEMENT = 0.8
_FEW_RIGHT = 0.75

#: Where all teachers agree and no more labels are right than this above chance, nothing is learnt.
_BARELY_ABOVE_CHANCE = 0.05

#: What the noise adds to the mean of all that teachers answer, beside the width of the bounds.
_MOST_OFF = 0.05

#: An epsilon above this is hardly a promise.
_LARGE_EPSILON = 10


def advice_on(plan):
    """Return what is to be said of a plan, by public numbers alone.

    Parameters
    ----------
    plan : Plan
        With its voters.

    Returns
    -------
    list of str
        A sentence or two for each finding, with what would help most; empty if all is well.
    """
    found = [*plan.obstacles, *plan.problems]
    if plan.has_teachers:
        findings = (_drowned_means,) if plan.voters.are_levels else (_few_labels, _drowned)
        if not plan.obstacles:
            found += [finding(plan) for finding in findings]
        found += [_unstable(stage, n, plan.voters.n_teachers) for stage, n in plan.stages]
    found.append(weak_promise(plan.epsilon, "record" if plan.spent is None else plan.spent.unit))
    return [text for text in found if text is not None]


def obstacles_to(plan):
    """Return why a plan of teachers cannot work.

    Parameters
    ----------
    plan : Plan
        With its voters.

    Returns
    -------
    list of str
    """
    n_classes = plan.voters.n_classes
    if plan.voters.are_levels:
        return []
    if plan.n_labels < n_classes:
        source = "is asked for"
        if plan.n_wanted >= n_classes:
            source = f"epsilon={plan.epsilon:.4g} pays for"
        return [
            f"{_sizes(plan)}: the number of labels is {plan.n_labels}, all that {source}, so that "
            f"the student cannot learn all classes; {_more_labels(plan)}"
        ]
    hears_nothing = plan.share_right(1.0) < 1 / n_classes + _BARELY_ABOVE_CHANCE
    drowned = _drowned(plan) if hears_nothing else None
    return [] if drowned is None else [drowned]


def large_delta(delta, *, n_teachers=None, n_records=None):
    """Say that a delta would allow to publish a record; None if it would not.

    Parameters
    ----------
    delta : float
        The delta.
    n_teachers, n_records : int or None, default=None
        Public numbers; `n_records` is None if private, and then that of teachers counts.

    Returns
    -------
    str or None
    """
    number, whose = (n_teachers, "teachers") if n_records is None else (n_records, "records")
    if number is None or delta * number < 1:
        return None
    return (
        f"delta={delta:g} is not below one over the number of {whose}, {number}: publishing "
        "one of them at random would be as private. Choose delta well below that"
    )


def weak_promise(epsilon, unit):
    """Say that an epsilon is hardly a promise; None if it is one.

    Parameters
    ----------
    epsilon : float
        The epsilon.
    unit : str
        What is protected.

    Returns
    -------
    str or None
    """
    if epsilon <= _LARGE_EPSILON:
        return None
    if epsilon == math.inf:
        return "epsilon is infinite: no privacy is guaranteed. Use a mechanism with noise"
    return (
        f"epsilon={epsilon:.4g} is hardly a promise: one {unit} may make an outcome "
        f"{_factor(epsilon)} times as likely. Choose epsilon of a few at most"
    )


def _few_labels(plan):
    if plan.labels_per_class >= _FEW_LABELS:
        return None
    each = math.floor(plan.labels_per_class * 10) / 10
    return (
        f"{_sizes(plan)}: {each:g} labels a class, and a student needs about {_FEW_LABELS}; "
        f"{_more_labels(plan)}"
    )


def _sizes(plan):
    return f"{plan.voters.n_classes} classes and {plan.voters.n_teachers} teachers"


def _drowned(plan):
    right = plan.share_right(_AGREEMENT)
    if right >= _FEW_RIGHT or math.isnan(right):
        return None
    n_teachers = plan.voters.n_teachers
    known = plan.noise_std is not None
    noise = f" of standard deviation {plan.noise_std:.3g} votes" if known else ""
    helps = "ask fewer queries, raise epsilon" if plan.is_calibrated else "set less noise"
    return (
        f"the noise{noise} drowns the votes: where {_AGREEMENT:.0%} of {n_teachers} teachers agree "
        f"on one of {plan.voters.n_classes} classes, as few as {percent(right)} of the labels are "
        f"right; use more teachers, {helps}{_or_records(plan)}"
    )


def _drowned_means(plan):
    if plan.noise_std is None:
        return None
    off = plan.noise_std / plan.voters.n_teachers / math.sqrt(2 * plan.n_labels)
    if off <= _MOST_OFF:
        return None
    helps = "raise epsilon, use more teachers" if plan.is_calibrated else "set less noise"
    return (
        f"the noise drowns the means: it adds {off:.0%} of the width of bounds to the mean of all "
        f"{plan.n_labels} together; {helps}{_or_records(plan)}"
    )


def _unstable(stage, n_queries, n_teachers):
    """Say that a mechanism that answers what is stable will answer almost nothing."""
    needed = stage.stability_needed(n_queries)
    if needed <= max(n_teachers / 2 - 1, 0):
        return None
    return (
        f"{stage} counts a query as stable if {needed:.0f} teachers can change without changing "
        f"the answer, and half of n_teachers={n_teachers} is less: almost nothing will be "
        "answered. Use more teachers, fewer runs or a larger epsilon"
    )


def _more_labels(plan):
    """Say what would give a student enough labels of each class, and what would help most."""
    n_needed = _FEW_LABELS * plan.voters.n_classes
    if plan.n_public < n_needed:
        return f"give more public rows, {n_needed} or more, not {plan.n_public}"
    if plan.n_wanted < n_needed:
        return f"ask more, n_queries={n_needed} or None{_or_records(plan)}"
    # Set noise pays for the same number, whoever votes
    helps = "use more teachers, raise epsilon" if plan.is_calibrated else "raise epsilon"
    return f"{helps}{_or_records(plan)}"


def _or_records(plan):
    """Say that records may vote in place of teachers, unless nobody has all of them."""
    if plan.voters.are_sites:
        return ""
    return ", or set base_estimator=neighbors.ReverseNeighbors()"


def percent(share):
    """Write a share in percent, rounded down.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str
    """
    return f"{math.floor(share * 100 + 1e-9)}%"


def _factor(epsilon):
    """Write how much likelier epsilon lets an outcome become."""
    power = math.floor(epsilon / math.log(10))
    if power < 6:
        return f"{math.floor(math.exp(epsilon) / 10 ** (power - 1)) * 10 ** (power - 1):,}"
    return f"10^{power}"
