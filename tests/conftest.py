"""What tests share: the folder of the real data, the divergences of one query, output."""

import contextlib
import functools
import gc
import hashlib
import io
import itertools
import logging
import math
import os
import secrets
import sys
import threading
import warnings

# Before numpy is imported: on so few rows, threads of BLAS only wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import hypothesis
import matplotlib
import mpmath as mp
import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification

from sklearn_pate import secure
from sklearn_pate.aggregators import GNMax
from sklearn_pate.audit import first_release
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.fitting import seeds
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods.teachers import SiteTeachers, Teachers
from sklearn_pate.model_selection import trials
from sklearn_pate.neighbors import centers
from sklearn_pate.runtime import isolation
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.schema_release import counts, estimates
from sklearn_pate.teachers import Sites

matplotlib.use("Agg")

hypothesis.settings.register_profile("same", derandomize=True)
if "SKLEARN_PATE_TESTS_SEED" not in os.environ:  # set: other inputs in each run
    hypothesis.settings.load_profile("same")

with mp.workdps(50):
    NODES = GaussLegendre(mp.mp).calc_nodes(5, mp.mp.prec)
#: Of an integral by Gauss-Legendre, in noise scales
LONGEST_PIECE = 4


def cases(names, *rows, ids=None):
    """Parametrize a test with rows of arguments, or with values of one."""
    return pytest.mark.parametrize(names, rows, ids=ids)


def table(names, *rows):
    """Parametrize a test: each row is an id and arguments, or a dict has those of all."""
    if isinstance(rows[0], dict):
        ids, rows = zip(*rows[0].items(), strict=True)
    else:
        ids, rows = [row[0] for row in rows], [row[1] if len(row) == 2 else row[1:] for row in rows]
    return pytest.mark.parametrize(names, rows, ids=ids)


def sampled(n_together=1, **always):
    """Let CI run a few parameter sets of a test: each value of each parameter occurs in one.

    The others are `exhaustive`. With ``n_together=2``, each pair of values occurs that some set
    has. Sets with a value that is named, as in ``sampled(is_faulty=True)``, all run in CI.
    """
    return pytest.mark.sampled(n_together, **always)


def draws(few, many):
    """Parametrize a test of random inputs with their number, which is larger before a release."""
    sets = [few, pytest.param(many, marks=pytest.mark.exhaustive)]
    return pytest.mark.parametrize("n_draws", sets)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the parameter sets that `sampled` leaves out, before marks select tests."""
    tests = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for sets in tests.values():
        mark = sets[0].get_closest_marker("sampled")
        in_ci = few_sets([item.callspec.params for item in sets], *mark.args, **mark.kwargs)
        for place in set(range(len(sets))) - set(in_ci):
            sets[place].add_marker(pytest.mark.exhaustive)


def few_sets(sets, n_together=1, **always):
    """Return the places of a few parameter sets with each value, at least two: see `sampled`.

    Each choice is the first of the sets with the most values, or pairs of them, that are missing.
    """
    keys = [[(name, _key(value)) for name, value in values.items()] for values in sets]
    parts = [set(itertools.combinations(key, n_together)) for key in keys]
    named = {(name, _key(value)) for name, value in always.items()}
    chosen = [place for place, key in enumerate(keys) if named.intersection(key)]
    missing = set().union(*parts).difference(*[parts[place] for place in chosen])
    while missing or len(chosen) < min(2, len(sets)):
        left = [place for place in range(len(sets)) if place not in chosen]
        chosen.append(max(left, key=lambda place: len(parts[place] & missing)))
        missing -= parts[chosen[-1]]
    return chosen


def _key(value):
    """Return what tells two values apart: 1 is not True, and arrays have no truth value."""
    is_plain = isinstance(value, str | int | float | bytes | type | None)
    return (type(value), value) if is_plain else id(value)


@pytest.fixture(scope="session")
def data_home():
    """Return the folder with the real data sets."""
    folder = os.environ.get("SKLEARN_PATE_DATA")
    if not folder:
        pytest.skip("needs the real data: set SKLEARN_PATE_DATA to its folder")
    return Path(folder)


def _global_seeds():
    """Return the seeds that an environment variable asks for: one, a range "0-9", or "any"."""
    queried = os.environ.get("SKLEARN_PATE_TESTS_SEED", "42")
    if queried == "any":
        queried = str(secrets.randbelow(2**31))
        os.environ["SKLEARN_PATE_TESTS_SEED"] = queried  # the same in all processes
    first, _, last = queried.partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.fixture(params=_global_seeds())
def global_random_seed(request):
    """Return the seed of a statistical test: `SKLEARN_PATE_TESTS_SEED=any` tries another one."""
    return request.param


class _Entropy:
    """Random numbers in place of those of the operating system, the same in each run of a test.

    A forked process copies the state, and draws the same numbers as its parent.
    """

    rng = None

    def start(self, name):
        text = f"{os.environ.get('SKLEARN_PATE_TESTS_SEED')} {name}"
        self.rng = np.random.default_rng(list(hashlib.sha1(text.encode()).digest()))

    def urandom(self, n_bytes):
        return self.rng.bytes(n_bytes)

    def randbits(self, n_bits):
        return int.from_bytes(self.rng.bytes(-(-n_bits // 8)), "little") >> -n_bits % 8


_ENTROPY = _Entropy()


@pytest.fixture(scope="session", autouse=True)
def noise_without_a_seed_is_the_same_in_each_run():
    """Draw the noise of fits without a `random_state` from a seed of their test.

    `SKLEARN_PATE_TESTS_SEED=any` draws other noise.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secure, "urandom", _ENTROPY.urandom)
        patch.setattr(np.random.bit_generator, "randbits", _ENTROPY.randbits)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    _ENTROPY.start(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Seed a shared fixture by its own name, so that the first test that needs it is no matter."""
    if fixturedef.scope == "function":
        return (yield)
    before = _ENTROPY.rng
    _ENTROPY.start(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', None)}")
    try:
        return (yield)
    finally:
        _ENTROPY.rng = before


@pytest.fixture(autouse=True)
def as_in_a_process_of_its_own(monkeypatch):
    """Count the fits of each test from 1; none is the first with a seed."""
    monkeypatch.setattr(isolation, "_numbers", itertools.count(1))  # put back after the test
    monkeypatch.setattr(seeds, "_has_warned", threading.Event())
    seeds._has_warned.set()


@pytest.fixture(scope="session", autouse=True)
def signatures_are_read_once():
    """Keep the names of parameters of each class: reading them is a twentieth of all time."""
    names = functools.cache(BaseEstimator._get_param_names.__func__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseEstimator, "_get_param_names", classmethod(lambda cls: [*names(cls)]))
        yield


@pytest.fixture(scope="session", autouse=True)
def arrays_are_no_frames():
    """Spare arrays the look at all their attributes by which scikit-learn finds frames."""
    narwhals = sys.modules.get("narwhals.stable.v2")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("is_into_dataframe", "is_into_series") if narwhals else ():
            original = getattr(narwhals.dependencies, name)
            found = functools.partial(_unless_array, original)
            patch.setattr(narwhals.dependencies, name, found)
        yield


def _unless_array(is_frame, value):
    return type(value) is not np.ndarray and is_frame(value)


@pytest.fixture(scope="session", autouse=True)
def equal_rows_are_clustered_once():
    """Keep the centers of cells: many tests cluster the same public rows with the same seed."""
    made, make = {}, centers.make_centers

    def make_once(public, n_cells, random_state):
        if random_state is None:
            return make(public, n_cells, random_state)
        rows = hashlib.sha1(np.ascontiguousarray(public)).digest()
        key = rows, public.shape, public.dtype, n_cells, random_state
        if key not in made:
            made[key] = make(public, n_cells, random_state)
        return made[key].copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(centers, "make_centers", make_once)
        yield


@pytest.fixture(scope="module")
def one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def few_units_are_scored(monkeypatch):
    """Let private searches score trials on 20 units: each takes milliseconds."""
    monkeypatch.setattr(trials, "MOST_SCORED", 20)


@pytest.fixture
def small_trees(monkeypatch):
    """Let trees of a schema release have 32 leaves of 512: their noise is drawn in a tenth."""
    for module in (counts, estimates, first_release):
        monkeypatch.setattr(module, "N_LEVELS", 5)
    for module in (counts, estimates):
        monkeypatch.setattr(module, "N_LEAVES", 2**5)


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger of a large budget."""
    return PrivacyLedger(tmp_path / "ledger.sqlite", epsilon=50.0)


IN_THREADS = pytest.mark.filterwarnings("ignore:teachers run in threads:UserWarning")


def note_calls(monkeypatch, owner, name, note):
    """Return a list of what a function makes of the arguments of each call of another to come."""
    original, notes = getattr(owner, name), []

    def noted(*args, **kwargs):
        notes.append(note(*args, **kwargs))
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, noted)
    return notes


class Inputs:
    """A partition that is known."""

    relation = "a change of the records of one teacher"

    def __init__(self, teacher_indices):
        self.teacher_indices = teacher_indices

    def assign(self, **given):
        return self.teacher_indices


def collect_votes(estimators, X, codes, X_query, *, teacher_indices, n_classes, **params):
    """Return the votes of teachers with these records, and the teachers if they are kept."""
    of_vote = {name: params.pop(name, None) for name in ("seed", "temperature", "on_done")}
    memory, names = params.pop("memory", None), params.pop("names", None)
    target = ClassTarget(params.pop("classes", np.arange(n_classes)))
    weight = params.pop("sample_weight", None)
    private = PrivateData(X=X, codes=codes, target=target, sample_weight=weight)
    kind = SiteTeachers if isinstance(X, Sites) else Teachers
    ensemble = kind(estimators, partition=Inputs(teacher_indices), **params)
    ensemble.prepare(private, X_query, seed=of_vote["seed"], memory=memory)
    if names is not None:
        ensemble._assignment = ensemble._assignment._replace(names=names)
    return ensemble.vote(private, X_query, **of_vote), ensemble.teachers_


def interrupt(*args, **kwargs):
    """In place of a function: as if the user pressed Ctrl-C in it."""
    raise KeyboardInterrupt


def count_fits_from_one():
    """Let the next fit be the first of its process."""
    isolation._numbers = itertools.count(1)


@pytest.fixture(scope="module")
def forked_workers():
    """Let loky's workers start at once, from a process that has imported the package."""
    from processes import loky_forks

    with loky_forks():
        yield


def three_classes(n_rows, n_columns):
    """Rows and labels of three classes that are well apart."""
    given = {"n_redundant": 0, "n_classes": 3, "class_sep": 2, "random_state": 0}
    return make_classification(n_rows, n_columns, n_informative=n_columns - 1, **given)


def histograms_of(n_teachers, n_classes):
    """All histograms of so many votes."""
    rows = itertools.product(range(n_teachers + 1), repeat=n_classes)
    return np.array([row for row in rows if sum(row) == n_teachers])


def moves(counts):
    """All neighbours of one histogram: a vote moves from one class to another."""
    counts = np.asarray(counts)
    neighbours = []
    for source in np.flatnonzero(counts):
        for target in range(len(counts)):
            if target != source:
                neighbour = counts.copy()
                neighbour[source] -= 1
                neighbour[target] += 1
                neighbours.append(neighbour)
    return np.array(neighbours)


def divergences(aggregator, counts, order):
    """Renyi divergences of one query from all its neighbours: forward and reverse."""
    p = aggregator.outcome_log_proba([counts])
    q = aggregator.outcome_log_proba(moves(counts))
    with np.errstate(invalid="ignore"):
        forward = logsumexp(order * p + (1 - order) * q, axis=1) / (order - 1)
        reverse = logsumexp(order * q + (1 - order) * p, axis=1) / (order - 1)
    return forward, reverse


def outcome_probabilities(mechanism, counts):
    """Outcome probabilities of GNMax or LNMax on one histogram, in 50 digits.

    For two classes, a closed form of the margin. For more, a class has the largest noisy count
    with the integral of its density times the distribution functions of the others.
    """
    is_gaussian = isinstance(mechanism, GNMax)
    scale = mp.mpf(mechanism.sigma) if is_gaussian else 1 / mp.mpf(mechanism.gamma)
    scaled_counts = [mp.mpf(int(n)) / scale for n in counts]
    if len(scaled_counts) == 2:
        margin = scaled_counts[0] - scaled_counts[1]
        return _two_outcomes_gaussian(margin) if is_gaussian else _two_outcomes_laplace(margin)
    probability = _probability_of_the_largest(scaled_counts, is_gaussian)
    total = mp.fsum(probability[n] for n in scaled_counts)
    assert abs(total - 1) < 1e-25
    return [probability[n] / total for n in scaled_counts]


def _two_outcomes_gaussian(margin):
    return [mp.ncdf(margin / mp.sqrt(2)), mp.ncdf(-margin / mp.sqrt(2))]


def _two_outcomes_laplace(margin):
    tail = (2 + abs(margin)) / 4 * mp.exp(-abs(margin))
    return [1 - tail, tail] if margin >= 0 else [tail, 1 - tail]


def _pdf_and_cdf(x, is_gaussian):
    """Density and distribution function of standard noise."""
    if is_gaussian:
        return mp.npdf(x), mp.ncdf(x)
    half = mp.exp(-abs(x)) / 2
    return half, half if x < 0 else 1 - half


def _probability_of_the_largest(scaled_counts, is_gaussian):
    """Probability of each distinct count to be the largest: Gauss-Legendre, 48 points a piece.

    The pieces end at the counts, where the density of Laplace noise has a kink.
    """
    kinks = sorted(set(scaled_counts))
    reach = 12 if is_gaussian else 80
    edges = [kinks[0] - reach, *kinks, kinks[-1] + reach]
    repeats = {n: scaled_counts.count(n) for n in kinks}
    probability = dict.fromkeys(kinks, mp.mpf(0))
    for start, end in itertools.pairwise(edges):
        n_pieces = max(1, math.ceil((end - start) / LONGEST_PIECE))
        half_width = (end - start) / n_pieces / 2
        for k in range(n_pieces):
            for node, weight in NODES:
                x = start + half_width * (2 * k + 1 + node)
                noise = {n: _pdf_and_cdf(x - n, is_gaussian) for n in kinks}
                all_below = mp.fprod(below ** repeats[n] for n, (_, below) in noise.items())
                for n, (density, below) in noise.items():
                    probability[n] += weight * half_width * all_below / below * density
    return probability


def said_while(action):
    """What an action returns, prints, logs and warns of."""
    out = io.StringIO()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True, action="always") as caught_warnings,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            result = action()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    warned = [(w.category.__name__, str(w.message)) for w in caught_warnings]
    return result, out.getvalue(), log.getvalue(), warned


def pytest_collection_finish():
    """Never look for garbage in what stays, imports and tests: that is a twentieth of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let tests that follow each other share a process, its fixtures and joblib's workers."""
    if config.getvalue("dist") != "load":  # the command asks for another scheduler
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
