"""
How sure is a prediction?
=========================

Two rows can have the same prediction for different reasons: one because its categories are known to be average, the
other because nothing is known of them. The interval tells them apart.
"""

# %%
# Salaries of people in offices; some offices are large, and many are small.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from catbayes import SamplingRegressor

random = np.random.default_rng(0)
size = np.r_[np.full(4, 200), np.full(10, 30), np.full(60, 4)]
office = np.repeat(np.arange(len(size)), size)
effect = random.normal(0, 8, len(size))
years = random.uniform(0, 30, len(office))
salary = 40 + effect[office] + 0.6 * years + random.normal(0, 6, len(office))
X = pd.DataFrame({"office": [f"office {number:02}" for number in office], "years": years})

# %%
# Any regressor will do. It sees draws of the offices, and numbers as they are.
forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0)
model = SamplingRegressor(forest, random_state=0).fit(X, salary)

# %%
# One person of ten years in each office, and one in an office that was never seen.
new = pd.DataFrame({"office": [*(f"office {number:02}" for number in range(len(size))), "a new one"], "years": 10.0})
mean = model.predict(new)
lower, upper = model.predict_category_interval(new, coverage=0.9)
width = (upper - lower).tolist()
for name, rows in (
    ("200 rows", slice(0, 4)),
    ("30 rows", slice(4, 14)),
    ("4 rows", slice(14, -1)),
    ("none", slice(-1, None)),
):
    print(f"an office of {name:9} is known to ± {np.mean(width[rows]) / 2:.1f}")

# %%
# The bars hold what the model would say if the true mean of the office were known: doubt that comes from the category,
# and neither the noise of one salary nor the errors of the forest.
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
rows = np.r_[0:4, 4:14, 14:30, len(size)]
place = np.arange(len(rows))
colors = np.select([rows < 4, rows < 14, rows < len(size)], ["C0", "C2", "C1"], "C3")
ax.vlines(place, lower[rows], upper[rows], color=colors, linewidth=3, alpha=0.6)
ax.scatter(place, mean[rows], color=colors, zorder=3)
known = rows < len(size)
ax.scatter(place[known], (40 + effect[rows[known]] + 6.0), marker="_", color="black", s=90, label="truth")
for at, text in ((1.5, "200 rows"), (8.5, "30 rows"), (21.5, "4 rows"), (29.6, "unseen")):
    ax.text(at, ax.get_ylim()[1], text, ha="center", va="bottom")
ax.set(xticks=[], xlabel="offices", ylabel="salary after ten years")
ax.legend(frameon=False, loc="lower left")

plt.show()
