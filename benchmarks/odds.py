"""Draw docs/odds.svg, what epsilon lets somebody guess: `python -m benchmarks.odds`."""

from pathlib import Path

import numpy as np

FILE = Path(__file__).parents[1] / "docs" / "odds.svg"


def most_sure(epsilon, suspicion=0.5):
    """Probability after the most telling outcome: odds grow by at most e^epsilon."""
    odds = np.exp(epsilon) * suspicion / (1 - suspicion)
    return odds / (1 + odds)


def right_on_average(epsilon):
    """How often the best guess is right: two numbers of a table with Laplace noise differ by one.

    It is half of one more than their total variation, the integral of 1 - e^-loss where it is above
    0. Each number has a loss of epsilon / 2 in half of all cases, of -epsilon / 2 in half of
    e^(-epsilon / 2), and a density in between.
    """
    return 1 - (1 + epsilon / 4) * np.exp(-epsilon / 2) / 2


def draw(file=FILE):
    import matplotlib as mpl
    from matplotlib.figure import Figure

    epsilons = np.geomspace(0.05, 8, 60)
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    likely = most_sure(epsilons, 0.1)
    axes.plot(epsilons, 100 * most_sure(epsilons), c="#0072B2", label="at most, from 50 %")
    axes.plot(epsilons, 100 * likely, c="#0072B2", ls="--", label="at most, from 10 %")
    average = 100 * right_on_average(epsilons)
    axes.plot(epsilons, average, c="#D55E00", ls=":", lw=2, label="on average, from 50 %")
    axes.set(xscale="log", xlabel="epsilon", ylabel="how sure they can be, %", ylim=(0, 102))
    axes.set_xticks([0.1, 0.25, 0.5, 1, 2, 4, 8], ["0.1", "0.25", "0.5", "1", "2", "4", "8"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    # With a fixed salt and no date, the same numbers give the same file
    with mpl.rc_context({"svg.hashsalt": "odds"}):
        figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    draw()
