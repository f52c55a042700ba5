"""Interrupted fits pay for the steps that they published, and for nothing else."""

import contextlib
import itertools
import os

import numpy as np
import pytest
from conftest import IN_THREADS, draws
from interrupted import PATHS, Lines, Watched, X, apart, calls_that_die, fit, watched

from sklearn_pate.class_sums import statistic
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.runtime import workers

# The noise is fixed, and the records are few
pytestmark = [
    IN_THREADS,
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.usefixtures("few_units_are_scored"),
]

POINTS = [(name, k) for name, (_, _, steps) in PATHS.items() for k in range(1, len(steps) + 1)]


def check_spent(error, model, ledger, watch, expected):
    """Check statement, note and ledger of an interrupted fit: the cost of published steps."""
    assert watch.unpaid == []
    spent = getattr(error, "privacy_spent", None)
    epsilon = 0.0 if spent is None else spent.epsilon
    note = "nothing was spent" if spent is None else "is spent"
    assert [note in text for text in error.__notes__] == [True]
    if expected is None:
        assert 0.97 * model.epsilon < epsilon <= model.epsilon
    else:  # epsilon of Laplace noise is a bit less at this delta than without one
        assert 0.996 * expected <= epsilon <= (1 + 1e-6) * expected
    assert ledger.epsilon_of_entries == pytest.approx(epsilon, rel=1e-9)
    assert epsilon <= ledger.epsilon_spent <= 1.5 * epsilon
    assert len(ledger.costs) == len(ledger.history()) == (spent is not None)
    assert not hasattr(model, "student_") and not hasattr(model, "best_estimator_")


@contextlib.contextmanager
def interrupting():
    """Interrupt once a call has gathered all that it gathers."""
    yield
    raise KeyboardInterrupt


#: Quick paths, in which each kind of step is interrupted once.
QUICK = "records", "columns", "teachers", "sums alone", "sums, records", "histograms"
QUICK += "records, releases", "numbers, sums"


@pytest.mark.parametrize(
    "name, number",
    [pytest.param(*point, marks=[pytest.mark.slow] * (point[0] not in QUICK)) for point in POINTS],
)
def test_interrupted_fit_costs_published_steps_only(name, number, tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    model, run = fit(name, ledger)

    def when(n_gathers):
        return interrupting() if n_gathers == number else contextlib.nullcontext()

    with watched(monkeypatch, when) as watch, pytest.raises(KeyboardInterrupt) as caught:
        run()
    assert watch.n_gathers == number
    check_spent(caught.value, model, ledger, watch, PATHS[name][2][number - 1])


def test_interrupted_poll_costs_published_steps_only(tmp_path, monkeypatch):
    for number, expected in enumerate(PATHS["sums, records"][2], start=1):
        ledger = Watched(tmp_path / f"ledger {number}")
        model, run = fit("sums, records", ledger)

        def when(n_gathers, number=number):
            return interrupting() if n_gathers == number else contextlib.nullcontext()

        with watched(monkeypatch, when) as watch, pytest.raises(KeyboardInterrupt) as caught:
            model.poll(*run.args)
        check_spent(caught.value, model, ledger, watch, expected)


@pytest.mark.slow
@draws(2, 4)
def test_interrupt_at_any_line_costs_published_steps_only(
    tmp_path, monkeypatch, global_random_seed, n_draws
):
    rng = np.random.default_rng(global_random_seed)
    n_lines, n_interrupted = {}, 0
    for name in PATHS:
        counted = Lines()
        with watched(monkeypatch, counted.within):
            fit(name, Watched(tmp_path / f"all of {name}"))[1]()
        n_lines[name] = counted.n_lines
    # Searches take longer
    names = [name for name in PATHS for _ in range(n_draws // (2 if "search" in name else 1))]
    for k, name in enumerate(names):
        ledger = Watched(tmp_path / f"ledger {k}")
        model, run = fit(name, ledger)
        lines = Lines(int(rng.integers(n_lines[name])) + 1)
        try:
            with watched(monkeypatch, lines.within) as watch:
                apart(run)
        except KeyboardInterrupt as error:
            n_interrupted += 1
            steps = PATHS[name][2]
            expected = steps[-1] if watch.searches else steps[watch.n_published]
            check_spent(error, model, ledger, watch, expected)
        assert watch.unpaid == []
    assert n_interrupted > 0.8 * len(names)  # others had fewer lines than the fit that counted them


# --- workers that die -----------------------------------------------------------------------------

needs_signals = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

#: The process that runs `fit` gathers releases of the user's own, histograms, and no votes.
IN_PROCESS = [("records, releases", 1), ("sums, releases", 3), ("histograms", 1)]
IN_PROCESS += [("sums alone", 4), ("numbers, sums", 3)]
OF_WORKERS = [point for point in POINTS if point not in IN_PROCESS]
FAST = [("sums alone", 2), ("teachers", 1)]


def with_workers(name, ledger):
    """Return the model of a path with two workers, and a function that fits it."""
    model, run = fit(name, ledger)
    model.set_params(**{"estimator__n_jobs" if "search" in name else "n_jobs": 2})
    return model, run


@needs_signals
@pytest.mark.parametrize(
    "name, number",
    [pytest.param(*p, marks=[pytest.mark.slow] * (p not in FAST)) for p in OF_WORKERS],
)
def test_dead_workers_cost_published_steps_only(
    name, number, tmp_path, monkeypatch, forked_workers
):
    n_retries = workers._N_RETRIES if (name, number) in FAST else 0
    monkeypatch.setattr(workers, "_N_RETRIES", n_retries)
    ledger = Watched(tmp_path / "ledger")
    model, run = with_workers(name, ledger)

    @contextlib.contextmanager
    def when(n_gathers):
        with monkeypatch.context() as patch:
            if n_gathers == number:
                patch.setattr(workers, "_calls", calls_that_die(tmp_path, 100))
            yield

    message = f"worker processes died {n_retries + 1} times"
    failed = pytest.raises((TeacherError, ValueError), match=message)
    with watched(monkeypatch, when) as watch, failed as caught:
        run()
    assert len(list(tmp_path.glob("death *"))) > n_retries
    check_spent(caught.value, model, ledger, watch, PATHS[name][2][number - 1])


@needs_signals
@pytest.mark.parametrize(
    "name, n_deaths",
    [
        pytest.param(*p, marks=[pytest.mark.slow] * (p != ("sums alone", 2)))
        for p in itertools.product(["sums alone", "records", "teachers"], [1, 2])
    ],
)
def test_tasks_of_dead_workers_run_again(name, n_deaths, tmp_path, monkeypatch, forked_workers):
    """The published results are of one process."""
    monkeypatch.setattr(statistic, "_ROWS", 64)
    fits = []
    for n_jobs in (None, 2):
        model, run = fit(name, None, random_state=0)
        model.set_params(n_jobs=n_jobs)
        with monkeypatch.context() as patch:
            if n_jobs == 2:
                patch.setattr(workers, "_calls", calls_that_die(tmp_path, n_deaths))
            fits.append(run())
    assert len(list(tmp_path.glob("death *"))) == n_deaths
    one, again = fits
    np.testing.assert_array_equal(one.public_labels_, again.public_labels_)
    np.testing.assert_array_equal(one.predict_proba(X), again.predict_proba(X))
    assert one.privacy_spent_ == again.privacy_spent_
    for part in ("counts", "by_class", "moment") if name == "sums alone" else ():
        assert np.array_equal(*(getattr(each.table_.sums, part) for each in fits))
