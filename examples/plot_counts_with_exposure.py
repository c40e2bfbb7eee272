"""
How are counts with an exposure encoded?
========================================

Claims of a policy depend on how long it was insured. What a category has is a *rate*, events per unit of exposure, and
the Gamma–Poisson family needs two numbers of it: the events and the exposure.

Give the events as the target and the exposure beside it: the posterior of a category is Gamma(α + events, β +
exposure).
"""

# %%
# Policies with a car model each. Models have true rates; a few are common and many are rare; most policies ran for less
# than a year.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from catbayes import SamplingBayesianEncoder

random = np.random.default_rng(0)
n_models, n_policies = 80, 6_000
popularity = 1.0 / np.arange(1, n_models + 1)
model = random.choice(n_models, n_policies, p=popularity / popularity.sum())
rate = random.gamma(4.0, 0.15 / 4.0, n_models)
exposure = random.beta(1.2, 1.0, n_policies)
claims = random.poisson(rate[model] * exposure)
X = pd.DataFrame({"model": [f"model {number:02}" for number in model]})
print(f"{claims.sum()} claims in {exposure.sum():.0f} years")

# %%
# Counts as they are take a short policy for a safe one. Rates do not.
by_rate = SamplingBayesianEncoder(family="poisson", random_state=0).fit(X, claims, exposure=exposure)
beliefs = by_rate.posteriors_["model"]
seen = beliefs[beliefs["kind"] == "seen"].copy()
seen["truth"] = rate[[int(name.rpartition(" ")[2]) for name in seen["category"]]]
seen[["category", "count", "raw_mean", "mean", "lower", "upper", "truth"]].head(5).round(3)

# %%
# `count` is the exposure in years. Rare models are drawn to the mean of all, and the intervals hold the truth as often
# as they say.
inside = ((seen["truth"] >= seen["lower"]) & (seen["truth"] <= seen["upper"])).mean()
print(f"the 90 % interval holds the true rate of {inside:.0%} of the models")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, sharex=True, layout="constrained")
area = 10 + 200 * seen["count"] / seen["count"].max()
for ax, column, title in ((axes[0], "raw_mean", "as counted"), (axes[1], "mean", "as believed")):
    error = float(np.sqrt(((seen[column] - seen["truth"]) ** 2).mean()))
    ax.plot([0, 0.45], [0, 0.45], color="0.6", linewidth=1)
    ax.scatter(seen["truth"], seen[column], s=area, alpha=0.6, edgecolor="white")
    ax.set(title=f"{title}: error {error:.3f}", xlabel="true rate of the car model", ylabel="claims a year")

plt.show()
