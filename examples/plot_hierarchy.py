"""
How is an unseen postcode encoded?
==================================

Without its region, a rare or unseen postcode is shrunk towards the mean of all postcodes. With `Nested`, it is shrunk
towards the mean of its region.
"""

# %%
# 4,000 postcodes in 100 regions. Each region has its own rate, and postcodes vary around the rate of their region. Most
# postcodes are rare.
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
# The same encoder, without and with regions.
found = {}
for name, kinds in (("without its region", None), ("with its region", {"postcode": Nested(["region"])})):
    encoder = SamplingBayesianEncoder(["postcode"], kinds=kinds, random_state=0).fit(X[train], y[train])
    found[name] = encoder.transform(X[test])[:, 0].astype(float)
rows = X["postcode"][train].value_counts().reindex(X["postcode"][test]).fillna(0).to_numpy()

# %%
# The error of the encoded rate, by the number of training rows of the postcode. The region helps most where there are
# none.
bins = [(0, 0), (1, 2), (3, 5), (6, 10), (11, 30), (31, 100), (101, 10_000)]
labels = [f"{low}" if low == high else f"{low}–{high}" if high < 10_000 else f"{low}+" for low, high in bins]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, value in found.items():
    error = [
        np.sqrt(np.mean((value - rate[postcode[test]])[(rows >= low) & (rows <= high)] ** 2)) for low, high in bins
    ]
    ax.plot(labels, error, marker="o", label=name)
    print(f"{name:18s} error for unseen postcodes {error[0]:.3f}, for those of 101 rows or more {error[-1]:.3f}")
ax.set(xlabel="training rows of the postcode", ylabel="error of the encoded rate", ylim=(0, None))
ax.legend(title="a postcode", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
