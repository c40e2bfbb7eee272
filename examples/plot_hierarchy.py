"""
What does a region tell of a postcode that was never seen?
==========================================================

Postcodes resemble others of their region. Without the region, a postcode of which little is known is drawn to the mean
of the whole table; with it, to the mean of its neighbours.
"""

# %%
# 4,000 postcodes in 100 regions, each region with a rate of its own, and postcodes that vary about it. Most are rare.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit

from catbayes import SamplingBayesianEncoder
from catbayes.kinds import Nested

random = np.random.default_rng(0)
region_of = random.integers(0, 100, 4_000)
rate = expit(random.normal(-1.0, 0.8, 100)[region_of] + random.normal(0.0, 0.4, 4_000))
share = random.pareto(1.2, 4_000) + 0.1
postcode = random.choice(4_000, 40_000, p=share / share.sum())
X = pd.DataFrame({"postcode": postcode.astype(str), "region": region_of[postcode].astype(str)})
y = random.binomial(1, rate[postcode])
train, test = slice(0, 20_000), slice(20_000, None)

# %%
# The same encoder, without and with the regions.
found = {}
for name, kinds in (("by itself", None), ("in its region", {"postcode": Nested(["region"])})):
    encoder = SamplingBayesianEncoder(["postcode"], kinds=kinds, random_state=0).fit(X[train], y[train])
    found[name] = encoder.transform(X[test])[:, 0].astype(float)
rows = X["postcode"][train].value_counts().reindex(X["postcode"][test]).fillna(0).to_numpy()

# %%
# Error of the encoded rate, by how many rows of the postcode the encoder had seen.
bins = [(0, 0), (1, 2), (3, 5), (6, 10), (11, 30), (31, 100), (101, 10_000)]
labels = [f"{low}" if low == high else f"{low}–{high}" if high < 10_000 else f"{low}+" for low, high in bins]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, value in found.items():
    error = [
        np.sqrt(np.mean((value - rate[postcode[test]])[(rows >= low) & (rows <= high)] ** 2)) for low, high in bins
    ]
    ax.plot(labels, error, marker="o", label=name)
    print(f"{name:14s} error for unseen postcodes {error[0]:.3f}, for those of 101 rows or more {error[-1]:.3f}")
ax.set(xlabel="rows of the postcode at fit", ylabel="error of the encoded rate", ylim=(0, None))
ax.legend(title="a postcode")
plt.show()
