"""Interrupted fits pay for the steps that they published, and for nothing else."""

import contextlib

import numpy as np
import pytest
from conftest import IN_THREADS
from interrupted import PATHS, Lines, Watched, fit, watched

# The noise is fixed, and the records are few
pytestmark = [IN_THREADS, pytest.mark.filterwarnings("ignore::UserWarning")]

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
    else:  # that of Laplace noise is a bit less at this delta than without one
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


@pytest.mark.parametrize("name, number", POINTS)
def test_an_interruption_costs_published_steps_only(name, number, tmp_path, monkeypatch):
    ledger = Watched(tmp_path / "ledger")
    model, run = fit(name, ledger)

    def when(n_gathers):
        return interrupting() if n_gathers == number else contextlib.nullcontext()

    with watched(monkeypatch, when) as watch, pytest.raises(KeyboardInterrupt) as caught:
        run()
    assert watch.n_gathers == number
    check_spent(caught.value, model, ledger, watch, PATHS[name][2][number - 1])


def test_a_poll_that_is_interrupted_costs_published_steps_only(tmp_path, monkeypatch):
    for number, expected in enumerate(PATHS["sums, records"][2], start=1):
        ledger = Watched(tmp_path / f"ledger {number}")
        model, run = fit("sums, records", ledger)

        def when(n_gathers, number=number):
            return interrupting() if n_gathers == number else contextlib.nullcontext()

        with watched(monkeypatch, when) as watch, pytest.raises(KeyboardInterrupt) as caught:
            model.poll(*run.args)
        check_spent(caught.value, model, ledger, watch, expected)


@pytest.mark.slow
def test_interruptions_at_any_line_of_gather_cost_published_steps_only(tmp_path, monkeypatch):
    """A hundred, over all paths."""
    rng = np.random.default_rng()
    n_lines, n_interrupted = {}, 0
    for name in PATHS:
        counted = Lines()
        with watched(monkeypatch, counted.within):
            fit(name, Watched(tmp_path / f"all of {name}"))[1]()
        n_lines[name] = counted.n_lines
    for k in range(100):
        name = list(PATHS)[k % len(PATHS)]
        ledger = Watched(tmp_path / f"ledger {k}")
        model, run = fit(name, ledger)
        lines = Lines(int(rng.integers(n_lines[name])) + 1)
        try:
            with watched(monkeypatch, lines.within) as watch:
                run()
        except KeyboardInterrupt as error:
            n_interrupted += 1
            steps = PATHS[name][2]
            expected = steps[-1] if watch.searches else steps[watch.n_published]
            check_spent(error, model, ledger, watch, expected)
        assert watch.unpaid == []
    assert n_interrupted > 80  # others had fewer lines than the fit that counted them
