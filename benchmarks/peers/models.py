"""The measured models: their arguments, neighboring relation and settings."""

from dataclasses import dataclass
from math import exp

from .surveys import SURVEYS
from .tables import TABLES

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
#: Where gradient boosting on synthetic rows is tried: it is slow.
THREE = ("Adult", "flights", "only together")
#: Where many steps take minutes at most.
NOT_IMAGES = tuple(name for name in TABLES if name != "MNIST pixels")
TWO_CLASSES = (
    "Adult",
    "Diabetes, natural",
    "Diabetes, balanced",
    "flights",
    "breast cancer",
    "only together",
    *SURVEYS,
)


@dataclass(frozen=True)
class Model:
    """A model of the table.

    The first of its settings is the one that its documentation gives; of the others, the
    one is taken that is best on the other data sets.
    """

    name: str
    #: whose Python fits it: "" is this one
    environment: str
    #: the file in `fits`
    script: str
    #: columns as in `columns.arrays`
    kind: str
    settings: dict[str, dict]
    tables: tuple = tuple(TABLES)
    #: of a private one
    epsilons: tuple = EPSILONS
    #: 2 if its own epsilon is for records that join or leave: to replace one is to do both
    moves: int = 2
    has_delta: bool = False
    needs_public_rows: bool = False
    is_private: bool = True
    about: str = ""

    @property
    def first(self):
        return next(iter(self.settings))

    def own(self, epsilon, delta):
        """The epsilon and delta for its package, so that the given ones hold for a replaced record.

        Two changes one after the other: 2 epsilon, and (1 + exp(epsilon)) delta.
        """
        if self.moves == 1:
            return epsilon, delta
        return epsilon / 2, delta / (1 + exp(epsilon / 2))


def _peer(name, environment, kind, settings, **more):
    return Model(name, environment, f"{environment}_models.py", kind, settings, **more)


def _opacus(name, kind, n_hidden, **more):
    """Two models: with the same steps for all tables and epsilons, and by a rule of both."""
    of_all = {
        "200 steps, learning rate 2": dict(hidden=n_hidden, lr=2.0, steps=200),
        "200 steps, learning rate 0.5": dict(hidden=n_hidden, lr=0.5, steps=200),
        "500 steps, learning rate 2": dict(hidden=n_hidden, lr=2.0, steps=500),
    }
    longer = {"by records and epsilon": dict(hidden=n_hidden, lr=None, steps=None)}
    more = {"has_delta": True} | more
    return (
        _peer(name, "opacus", kind, of_all, **more),
        _peer(f"{name}, longer", "opacus", kind, longer, tables=NOT_IMAGES, **more),
    )


MODELS = (
    Model(
        "PATE",
        "",
        "ours",
        "",
        {"bare": {}, "100 cells": {"n_cells": 100}, "300 cells": {"n_cells": 300}},
        moves=1,
        needs_public_rows=True,
        about="`PATEClassifier(epsilon=..., classes=...)`, public rows",
    ),
    Model(
        "PATE, no public rows",
        "",
        "ours",
        "",
        {"bare": {}, "100 cells": {"n_cells": 100}, "300 cells": {"n_cells": 300}},
        moves=1,
        about="`PATEClassifier(epsilon=..., classes=..., schema=...)`",
    ),
    Model(
        "PATE, nothing declared",
        "",
        "ours",
        "",
        {"bare": {}},
        moves=1,
        about="`PATEClassifier(epsilon=...)`: peers have the best public bounds and all classes",
    ),
    _peer(
        "diffprivlib, naive Bayes",
        "diffprivlib",
        "codes",
        {"as it comes": dict(model="naive Bayes")},
    ),
    _peer(
        "diffprivlib, logistic regression",
        "diffprivlib",
        "wide",
        {
            "as it comes": dict(model="logistic regression"),
            "C=0.1": dict(model="logistic regression", C=0.1),
            "C=0.01": dict(model="logistic regression", C=0.01),
        },
        moves=1,
    ),
    _peer(
        "diffprivlib, random forest",
        "diffprivlib",
        "codes",
        {
            "as it comes": dict(model="forest"),
            "50 trees of depth 8": dict(model="forest", n_estimators=50, max_depth=8),
            "25 trees of depth 10": dict(model="forest", n_estimators=25, max_depth=10),
        },
    ),
    _peer(
        "interpret, DP-EBM",
        "interpret",
        "codes",
        {
            "as it comes": {},
            "100 rounds": dict(max_rounds=100),
            "16 bins": dict(max_bins=16),
        },
        tables=TWO_CLASSES,
        has_delta=True,
    ),
    Model(
        "AdaSSP on columns of public rows",
        "interpret",
        "adassp_models.py",
        "learned",
        {"as published": {}},
        moves=1,
        has_delta=True,
        needs_public_rows=True,
    ),
    *_opacus("Opacus, logistic regression", "wide", 0),
    *_opacus("Opacus, network", "wide", 32),
    *_opacus(
        "Opacus, logistic regression on columns of public rows",
        "learned",
        0,
        needs_public_rows=True,
    ),
    *_opacus("Opacus, network on columns of public rows", "learned", 32, needs_public_rows=True),
    _peer(
        "dpmm, MST and gradient boosting",
        "dpmm",
        "codes",
        {"as it comes": {}},
        tables=THREE,
        epsilons=(1.0,),
        has_delta=True,
    ),
    Model("no privacy, our student", "", "ours", "", {"": {}}, is_private=False),
    Model("no privacy, gradient boosting", "", "ours", "", {"": {}}, is_private=False),
    Model("majority class", "", "ours", "", {"": {}}, is_private=False),
)
