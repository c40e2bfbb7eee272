"""
How sure is a prediction?
=========================

Two rows can have the same prediction for different reasons: one because its categories are known to be average, the
other because nothing is known of them. Two intervals tell them apart: one for the next value, and one for what is not
known of the category.
"""

# %%
# Salaries of people in offices; some offices are large, and many are small.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from catbayes import SamplingRegressor

random = np.random.default_rng(0)
size = np.r_[np.full(4, 200), np.full(10, 30), np.full(120, 4)]
office = np.repeat(np.arange(len(size)), size)
effect = random.normal(0, 8, len(size) + 20)  # the last twenty offices are still to come
years = random.uniform(0, 30, len(office))


def name(numbers: Any) -> list[str]:
    return [f"office {number:03}" for number in numbers]


def earn(numbers: Any, years: Any) -> Any:
    return 40 + effect[numbers] + 0.6 * years + random.normal(0, 6, np.shape(numbers))


X, salary = pd.DataFrame({"office": name(office), "years": years}), earn(office, years)

# %%
# Any regressor will do. ``calibrate=5`` fits it five times more, each time without a fifth of the rows: what is said of
# the next salary is learnt from rows that the model had not seen.
model = SamplingRegressor(Ridge(), calibrate=5, random_state=0).fit(X, salary)

# %%
# Twenty new people of ten years in each office, and in offices that were never seen.
every = np.arange(len(effect))
new = pd.DataFrame({"office": name(every), "years": 10.0})
mean = model.predict(new)
lower, upper = model.predict_interval(new, coverage=0.9)
low, high = model.predict_category_interval(new, coverage=0.9)
people = earn(np.tile(every, (20, 1)), 10.0)
inside = (lower <= people) & (people <= upper)

kinds = {"200 rows": every < 4, "30 rows": (every >= 4) & (every < 14), "4 rows": (every >= 14) & (every < len(size))}
kinds["unseen"] = every >= len(size)
for kind, some in kinds.items():
    print(
        f"{kind:8} the mean of the office is known to ± {np.mean((high - low)[some]) / 2:4.1f}, "
        f"the next salary to ± {np.mean((upper - lower)[some]) / 2:4.1f}: {inside[:, some].mean():.0%} lie inside"
    )

# %%
# A dot is a person. Pale bars hold nine in ten of them, whether the office is known or not; of a new office all people
# may lie on one side, because they share its effect. Dark bars hold what is not known of the office, and nothing else:
# where they are short, more rows of it would not help, because people differ; where they are long, they would.
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
rows = np.r_[0:4, 4:10, 14:24, len(size) : len(size) + 4]
place = np.arange(len(rows))
colors = np.select([rows < 4, rows < 14, rows < len(size)], ["C0", "C2", "C1"], "C3")
ax.vlines(place, lower[rows], upper[rows], color=colors, linewidth=9, alpha=0.25, label="the next salary")
ax.vlines(place, low[rows], high[rows], color=colors, linewidth=3, label="what is not known of the office")
spot = place + random.uniform(-0.15, 0.15, (20, len(rows)))
ax.scatter(spot, people[:, rows], s=5, color="0.2", linewidth=0, zorder=3, label="people to come")
for kind, some in kinds.items():
    ax.text(place[some[rows]].mean(), ax.get_ylim()[1], kind, ha="center", va="bottom")
ax.set(xticks=[], xlabel="offices", ylabel="salary after ten years")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

plt.show()
