"""The exact epsilon of a statement in mpmath: 40 digits, no interval, no code of `verify`.

Normal probabilities are from mpmath, and costs are sums over all values of discrete noise or
formulas of the papers. Curves of queries are as stated, and so are branches, whose exact epsilon is
computed by the library.
"""

import mpmath as mp

mp.mp.dps = 40


def number(text):
    """A number of a statement."""
    return mp.mpf(float.fromhex(text)) if isinstance(text, str) else mp.mpf(text)


def gaussian_delta(epsilon, mu):
    if mu == 0:
        return max(mp.mpf(0), 1 - mp.exp(epsilon))
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def mixed_delta(epsilon, pure, times, mu):
    """Delta of steps of one pure cost each, and of Gaussian noise."""
    p = 1 / (1 + mp.exp(-pure))
    return mp.fsum(
        mp.binomial(times, k)
        * p ** (times - k)
        * (1 - p) ** k
        * gaussian_delta(epsilon - (times - 2 * k) * pure, mu)
        for k in range(times + 1)
    )


def equal_parts(steps):
    """The pure cost of each of up to 40 equal parts of pure steps, and their number; or the sum."""
    parts = []
    for step in steps:
        pure = costs(step)[0]
        if pure < mp.inf:
            times = step["n_runs"] if step["mechanism"] == "sparse vector" else step.get("count", 1)
            parts.append((pure / times, times))
    n_parts = sum(times for _, times in parts)
    first = parts[0][0]
    if n_parts <= 40 and all(mp.almosteq(pure, first, 1e-30) for pure, _ in parts):
        return first, n_parts
    return mp.fsum(pure * times for pure, times in parts), 1


def root(delta_at, delta):
    """The epsilon at which a falling delta is reached, by the Illinois method."""
    low, high = mp.mpf(0), mp.mpf(1)
    if (at_low := delta_at(low)) <= delta:
        return low
    while (at_high := delta_at(high)) > delta:
        low, at_low, high = high, at_high, 2 * high
        if high > 1e9:
            return mp.inf
    above, below = mp.log(at_low / delta), mp.log(at_high / delta)  # at `low`, and at `high`
    middle = None
    while high - low > high * mp.mpf("1e-14"):
        last, middle = middle, (low * below - high * above) / (below - above)
        value = mp.log(delta_at(middle) / delta)
        if abs(value) < 1e-20:
            return middle
        if value > 0:
            below = below / 2 if last == low else below
            low, above = middle, value
        else:
            above = above / 2 if last == high else above
            high, below = middle, value
    return high


def of_pure(pure):
    """mu of a pure cost."""
    return 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(pure / 2))


def renyi_of_pure(pure, a):
    if pure == 0:
        return mp.mpf(0)
    return mp.log(mp.cosh((a - 0.5) * pure) / mp.cosh(pure / 2)) / (a - 1)


def laplace_shift(rate, distance, a, grid):
    """Renyi divergence of shifted Laplace noise: three integrals, or sums over a grid."""
    up, down = mp.exp((a - 1) * rate * distance), mp.exp(-a * rate * distance)
    if grid is None:
        return mp.log((a * up + (a - 1) * down) / (2 * a - 1)) / (a - 1)
    q = mp.exp(-rate * grid)
    below, above = up / (1 - q), down * q / (1 - q)  # in units of the normalisation
    ratio = q ** (2 * a - 1)  # of neighboring terms between the centers
    n_between = distance / grid - 1
    between = up * ratio * (1 - ratio**n_between) / (1 - ratio)
    return mp.log((below + between + above / q) * (1 - q) / (1 + q)) / (a - 1)


def discrete_mu_squared(scale, squared, grid):
    """As in `discrete_gaussian_mu_squared`, whose proof is the library's."""
    size = scale / grid
    r = 2 * mp.nsum(lambda k: mp.exp(-2 * (2 * mp.pi * k) ** 2), [1, 5])
    increase = 1 + mp.sqrt(2 * mp.pi) * mp.log((1 + r) / (1 - r)) * size
    return squared / grid**2 * increase**2 / (size**2 - 4)


def costs(step):
    """Pure cost, mu squared, Renyi cost as a function of the order, and delta; inf for none."""
    kind, times = step["mechanism"], step.get("count", 1)
    own_delta = number(step.get("delta", 0))
    if kind == "laplace":
        rate, change = number(step["inverse_scale"]), step["contribution"]
        l1, linf = number(change["l1"]), number(change["linf"])
        pure = l1 * rate

        def renyi(a):
            shift = laplace_shift(rate, linf, a, step["grid"] and number(step["grid"]))
            return times * min(renyi_of_pure(pure, a), l1 / linf * shift)

        return times * pure, times * of_pure(pure) ** 2, renyi, own_delta
    if kind == "gaussian":
        scale, squared = number(step["scale"]), number(step["contribution"]["l2_squared"])
        mu_squared = squared / scale**2
        if step["grid"] is not None:
            mu_squared = discrete_mu_squared(scale, squared, number(step["grid"]))
        return mp.inf, times * mu_squared, lambda a: times * a * squared / scale**2 / 2, own_delta
    if kind == "noisy argmax":
        change, pure, mu_squared = step["contribution"], mp.inf, mp.inf
        if step["noise"] == "gaussian":
            ratio = number(change["l2_squared"]) / number(step["scale"]) ** 2
            if "check_scale" in step:
                ratio += 1 / number(step["check_scale"]) ** 2
            mu_squared = ratio if step["grid"] is None else mp.inf
            simple = lambda a: a * ratio / 2  # noqa: E731
        else:
            pure = number(change["l1"]) * number(step["inverse_scale"])
            all_counts = pure
            simple = lambda a: renyi_of_pure(all_counts, a)  # noqa: E731
        if "pure" in step:
            pure = min(pure, number(step["pure"]))
        if pure < mp.inf:
            mu_squared = min(mu_squared, of_pure(pure) ** 2)
        return (
            times * pure,
            times * mu_squared,
            lambda a: times * min(simple(a), curve(step, a)),
            own_delta,
        )
    if kind == "sparse vector":
        pure, runs = number(step["run_epsilon"]), step["n_runs"]
        return (
            runs * pure,
            runs * of_pure(pure) ** 2,
            lambda a: runs * renyi_of_pure(pure, a),
            own_delta,
        )
    if kind == "stated":
        pure, mu_squared = number(step["pure"]), number(step["mu_squared"])
        return pure, mu_squared, lambda a: curve(step, a), own_delta
    if kind == "filter":
        order, limit = number(step["order"]), number(step["limit"])
        inner = [costs(part) for part in step["steps"]]

        def renyi(a):
            total = sum(part[2](a) for part in inner)
            return min(limit, total) if a <= order else total

        return mp.inf, mp.inf, renyi, sum(part[3] for part in inner)
    if kind == "best of trials":
        return mp.inf, mp.inf, trials(step), mp.mpf(0)
    raise NotImplementedError(kind)


def curve(step, a):
    known = {float.fromhex(order): number(text) for order, text in step.get("renyi", {}).items()}
    return known.get(float(a), mp.inf)


def trials(step):
    mean, eta = number(step["mean"]), number(step["eta"])

    def mean_at(x):
        g = mp.exp(-x)
        if abs(eta) < 1e-9:
            return (1 / g - 1) / x
        return eta * (1 - g) / (g * (1 - g**eta))

    low, log_inverse_gamma = mp.mpf("1e-6"), mp.mpf(500)
    for _ in range(80):
        middle = (low + log_inverse_gamma) / 2
        if mean_at(middle) < mean:
            low = middle
        else:
            log_inverse_gamma = middle

    def of_trial(a):
        terms = []
        for part in step["candidates"]:
            each = [costs(inner) for inner in part["steps"]]
            pure, mu_squared = (sum(cost[k] for cost in each) for k in (0, 1))
            found = sum(cost[2](a) for cost in each)
            if mu_squared < mp.inf:
                found = min(found, a * mu_squared / 2)
            if pure < mp.inf:
                found = min(found, renyi_of_pure(pure, a))
            if part["score_scale"] is not None:
                found = max(found, a / (2 * number(part["score_scale"]) ** 2))
            terms += [mp.exp((a - 1) * found)] * part["count"]
        return mp.log(sum(terms) / len(terms)) / (a - 1)

    second = min(
        (1 - 1 / b) * of_trial(b) + log_inverse_gamma / b
        for b in map(number, step["second_orders"])
    )
    return lambda a: of_trial(a) + (1 + eta) * second + mp.log(mean) / (a - 1)


def epsilon(part):
    """The exact epsilon of a guarantee; None for branches and private tests."""
    if part["rule"] == "sum":
        for each in part["parts"]:
            found = epsilon(each)
            if found is not None and found > number(each["epsilon"]) * (1 + mp.mpf("1e-9")):
                return mp.inf
        return sum(number(each["epsilon"]) for each in part["parts"])
    if part["rule"] != "composition" or any(
        s["mechanism"] == "one of several" for s in part["steps"]
    ):
        return None
    all_costs = [costs(step) for step in part["steps"]]
    left = number(part["delta"]) - sum(cost[3] for cost in all_costs)
    found = [sum(cost[0] for cost in all_costs)]
    if left > 0:
        mu_squared = sum(cost[1] for cost in all_costs)
        if mu_squared < mp.inf:
            mu = mp.sqrt(mu_squared)
            found.append(root(lambda e: gaussian_delta(e, mu), left))
        pure = sum(cost[0] for cost in all_costs if cost[0] < mp.inf)
        rest = sum(cost[1] for cost in all_costs if cost[0] == mp.inf)
        if pure > 0 and 0 < rest < mp.inf:
            mu_of_rest = mp.sqrt(rest)
            each, times = equal_parts(part["steps"])
            found.append(root(lambda e: mixed_delta(e, each, times, mu_of_rest), left))
        for order in map(number, part["renyi_orders"]):
            renyi = sum(cost[2](order) for cost in all_costs)
            a = order
            found.append(renyi + mp.log((a - 1) / a) - (mp.log(left) + mp.log(a)) / (a - 1))
    return max(mp.mpf(0), min(found))
