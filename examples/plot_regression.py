"""
Hours of work per week, private, with intervals
===============================================

`PATERegressor` on the people of UCI Adult: how many hours a week somebody works, by age, education,
occupation and the like. 5,000 rows are public, without hours; 30,000 are private; the rest is for
scoring.

`bounds` are what everybody may know: a week has 168 hours, and the census form counts 1 to 99. With
two levels, the default, a fit releases means. With 10 there is a distribution of hours at each row,
and so intervals.

Takes about a minute on 2 cores. Needs the data below ``$SKLEARN_PATE_DATA`` or a network
connection. Give a file name to save the figure.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_pate import PATERegressor
from sklearn_pate.datasets import fetch_adult

parts = [fetch_adult(subset=subset).data for subset in ("train", "test")]
people = pd.concat(parts, ignore_index=True).drop(columns="fnlwgt")
people = people.sample(frac=1, random_state=0, ignore_index=True)
hours = people.pop("hours-per-week").astype(float)
public, private, test = slice(5000), slice(5000, 35_000), slice(35_000, None)

# %%
# Means. What a fit will do is known before it, and so is what it costs.

reg = PATERegressor(bounds=(1, 99), epsilon=1.0)
print(reg.plan(people[private], hours[private], X_public=people[public]))
reg.fit(people[private], hours[private], X_public=people[public])
print(f"R2 {reg.score(people[test], hours[test]):.3f}")
print(reg.privacy_spent_.summary())

# %%
# Intervals: eight of ten weeks should lie between the tenth and the ninetieth percentile.

spread = PATERegressor(bounds=(1, 99), n_levels=10, epsilon=1.0)
spread.fit(people[private], hours[private], X_public=people[public])
low, middle, high = spread.predict_quantiles(people[test], [0.1, 0.5, 0.9]).T
inside = np.mean((low <= hours[test]) & (hours[test] <= high))
print(f"{inside:.1%} of the hours are within 80 % intervals")

# %%
# The young work less. There are few old people: their estimates are shrunk towards those of all
# others.

age = people["age"][test].to_numpy()
ages = np.arange(18, 80, 3)
of_age = [(age >= first) & (age < first + 3) for first in ages]
fig, axes = plt.subplots(figsize=(6, 4))
axes.fill_between(
    ages,
    [low[rows].mean() for rows in of_age],
    [high[rows].mean() for rows in of_age],
    alpha=0.3,
    label="80 % intervals, epsilon 1",
)
axes.plot(ages, [reg.predict(people[test][rows]).mean() for rows in of_age], label="means")
axes.plot(ages, [hours[test][rows].mean() for rows in of_age], "k.", label="test rows")
axes.set(xlabel="age", ylabel="hours per week", title="UCI Adult")
axes.legend()
if len(sys.argv) > 1:
    fig.savefig(sys.argv[1])
