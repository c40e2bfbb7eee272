"""
How far are rare categories shrunk?
===================================

A merchant with one payment, and that one a fraud, is not a merchant with a fraud rate of 100 %. How far it is drawn to
the others depends on two things: how many rows it has, and how much merchants differ at all.
"""

# %%
# Simulated card payments, in which merchants matter, cities matter a little, and devices not at all.
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
# Each column has a prior of its own, worth so many rows. Devices get one that is stronger than the table.
shrinkage(encoder)

# %%
# As counted against as believed. On the diagonal nothing is shrunk; on the dashed line everything is.
figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
for ax, column in zip(axes, columns, strict=True):
    ShrinkageDisplay.from_estimator(encoder, column).plot(ax)
    ax.legend().remove()
    ax.set(xlabel="fraud rate, as counted", ylabel="as believed", ylim=(-0.02, 0.8))

# %%
# What is believed of single merchants: the mark is what was counted, the bar where the rate lies with 90 % probability.
beliefs = encoder.posteriors_["merchant"]
PosteriorDisplay.from_estimator(encoder, "merchant").plot()

# %%
# Because the payments are simulated, the truth is known. Shrinking brings the encoding nearer to it where rows are few.
# It is not free: from 16 to 63 rows the counted mean is nearer. One merchant in five differs a lot here and the others
# hardly at all, and one Beta prior has to do for both.
truth = payments.table.assign(truth=payments.truth).groupby("merchant")["truth"].mean()
seen = beliefs[beliefs["kind"] == "seen"].assign(truth=lambda frame: frame["category"].map(truth))
bins = [1, 2, 4, 8, 16, 64, 10_000]
for low, high in pairwise(bins):
    part = seen[(seen["count"] >= low) & (seen["count"] < high)]
    error = {name: float(np.sqrt(((part[name] - part["truth"]) ** 2).mean())) for name in ("raw_mean", "mean")}
    print(
        f"{low:>3} rows or more: error of the counted mean {error['raw_mean']:.3f}, of the believed {error['mean']:.3f}"
    )

plt.show()
