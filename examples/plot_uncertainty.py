"""
How uncertain is a prediction?
==============================

A row of a frequent category and a row of an unseen category can have the same prediction. Their intervals differ: one
interval is for the next target, the other for the mean of the category alone.
"""

# %%
# Salaries of people in offices. A few offices are large, and many are small.
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge

from catbayes import SamplingRegressor

random = np.random.default_rng(0)
size = np.r_[np.full(4, 200), np.full(10, 30), np.full(120, 4)]
office = np.repeat(np.arange(len(size)), size)
effect = random.normal(0, 8, len(size) + 20)  # the last twenty offices are not in the training rows
years = random.uniform(0, 30, len(office))


def name(numbers: Any) -> list[str]:
    return [f"office {number:03}" for number in numbers]


def earn(numbers: Any, years: Any) -> Any:
    return 40 + effect[numbers] + 0.6 * years + random.normal(0, 6, np.shape(numbers))


X, salary = pd.DataFrame({"office": name(office), "years": years}), earn(office, years)

# %%
# Any regressor works. ``calibrate=5`` fits it five more times, each time without a fifth of the rows, and learns the
# width of the intervals from the errors on these rows.
model = SamplingRegressor(Ridge(), calibrate=5, random_state=0).fit(X, salary)

# %%
# Twenty new people with ten years of work in each office, and in unseen offices.
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
        f"{kind:8} mean of the office ± {np.mean((high - low)[some]) / 2:4.1f}, "
        f"next salary ± {np.mean((upper - lower)[some]) / 2:4.1f}, of which {inside[:, some].mean():.0%} are inside"
    )

# %%
# A dot is a person. Pale bars contain nine of ten people, in seen and in unseen offices. All people of one unseen
# office may be on one side, because they share its effect. Dark bars are the uncertainty of the office alone. Where
# they are long, more rows of the office would help; where they are short, they would not, because people differ.
figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
rows = np.r_[0:4, 4:10, 14:24, len(size) : len(size) + 4]
place = np.arange(len(rows))
colors = np.select([rows < 4, rows < 14, rows < len(size)], ["C0", "C2", "C1"], "C3")
ax.vlines(place, lower[rows], upper[rows], color=colors, linewidth=9, alpha=0.25, label="the next salary")
ax.vlines(place, low[rows], high[rows], color=colors, linewidth=3, label="the mean of the office")
spot = place + random.uniform(-0.15, 0.15, (20, len(rows)))
ax.scatter(spot, people[:, rows], s=5, color="0.2", linewidth=0, zorder=3, label="new people")
for kind, some in kinds.items():
    ax.text(place[some[rows]].mean(), ax.get_ylim()[1], kind, ha="center", va="bottom")
ax.set(xticks=[], xlabel="offices", ylabel="salary after ten years")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

plt.show()
