"""
How far are rare categories shrunk?
===================================

A merchant with one payment, which was a fraud, does not have a fraud rate of 100 %. How far it is shrunk towards the
other merchants depends on its number of rows, and on how much merchants differ.
"""

# %%
# Simulated card payments. Merchants matter, cities matter a little, and devices do not.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from catbayes import SamplingBayesianEncoder
from catbayes.datasets import make_transactions
from catbayes.inspect import PosteriorDisplay, ShrinkageDisplay, shrinkage

payments = make_transactions(20_000)
columns = ["merchant", "city", "device"]
y = pd.Series(payments.y, name=payments.target)
encoder = SamplingBayesianEncoder(columns, random_state=0).fit(payments.table, y)

# %%
# Each column has its own prior, with a strength in rows. The prior of devices is stronger than the whole table.
shrinkage(encoder)

# %%
# Raw mean and posterior mean. On the diagonal nothing is shrunk; on the dashed line everything is.
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for ax, column in zip(axes, columns, strict=True):
    ShrinkageDisplay.from_estimator(encoder, column).plot(ax)
    ax.legend().remove()
    ax.set(xlabel="raw mean", ylabel="posterior mean", ylim=(-0.02, 0.8))

# %%
# Single merchants: the mark is the raw mean, and the bar the 90 % interval of the posterior.
posteriors = encoder.posteriors_["merchant"]
PosteriorDisplay.from_estimator(encoder, "merchant").plot()

# %%
# The payments are simulated, so the truth is known. Where rows are few, the posterior mean is much closer to it. From
# 16 to 63 rows the raw mean is closer: one merchant in five differs a lot here and the others hardly, and one Beta
# prior has to describe both.
truth = payments.table.assign(truth=payments.truth).groupby("merchant")["truth"].mean()
seen = posteriors[posteriors["kind"] == "seen"].assign(truth=lambda frame: frame["category"].map(truth))
bins = [1, 2, 4, 8, 16, 64, 10_000]
for low, high in pairwise(bins):
    part = seen[(seen["count"] >= low) & (seen["count"] < high)]
    error = {name: float(np.sqrt(((part[name] - part["truth"]) ** 2).mean())) for name in ("raw_mean", "mean")}
    print(f"{low:>3} rows or more: error of the raw mean {error['raw_mean']:.3f}, posterior mean {error['mean']:.3f}")

plt.show()
