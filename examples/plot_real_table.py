"""
Does it help on a real table?
=============================

Births per woman in 200 countries since 1960 (World Bank; the table is part of statsmodels). A model is trained on a few
years of most countries, and predicts the other years. Customers, shops and postcodes are similar: most are rare.
"""

# %%
# A row is a country in a year. Some countries have many training rows, most have few, and eight have none.
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.preprocessing import TargetEncoder
from statsmodels.datasets import fertility

from catbayes import SamplingRegressor
from catbayes.inspect import PosteriorDisplay

wide = fertility.load_pandas().data.rename(columns={"Country Name": "country"})
years = [name for name in wide if name.isdigit()]
table = wide.melt("country", years, "year", "births").dropna().astype({"year": int, "births": float})
random = np.random.default_rng(0)
countries = table["country"].unique()
share = dict(zip(countries, random.pareto(1.0, len(countries)) + 0.5, strict=True))
share |= dict.fromkeys(random.choice(countries, 8, replace=False), 0.0)
weight = table["country"].map(share)
rows = random.choice(len(table), 900, replace=False, p=(weight / weight.sum()).to_numpy())
shown = np.isin(np.arange(len(table)), rows)
known, rest = table[shown], table[~shown]
known.sample(3, random_state=0)

# %%
# Three ways to encode the country for the same LightGBM; the year is a number. TargetEncoder depends on its random
# folds, so the predictions of five are averaged.
columns = ["country", "year"]
booster = LGBMRegressor(n_estimators=150, learning_rate=0.1, min_child_samples=5, verbose=-1, n_jobs=1, random_state=0)
model = SamplingRegressor(booster, random_state=0).fit(known[columns], known["births"])
warnings.filterwarnings("ignore", "`TargetEncoder.shuffle`", FutureWarning)


def by_target_encoder(seed: int) -> Any:
    encoder = TargetEncoder(target_type="continuous", random_state=seed)
    means = encoder.fit_transform(known[["country"]], known["births"])
    fitted = clone(booster).fit(np.c_[means, known["year"]], known["births"])
    return fitted.predict(np.c_[encoder.transform(rest[["country"]]), rest["year"]])


names = {"country": pd.CategoricalDtype(countries)}
own = clone(booster).fit(known[columns].astype(names), known["births"])
found = {
    "SamplingRegressor": model.predict(rest[columns]),
    "TargetEncoder, 5 seeds": np.mean([by_target_encoder(seed) for seed in range(5)], axis=0),
    "LightGBM's own": own.predict(rest[columns].astype(names)),
}

# %%
# Root mean squared error on the other years, by the number of training years of the country.
seen = rest["country"].map(known["country"].value_counts()).fillna(0)
bins = {"none": (0, 0), "1": (1, 1), "2–3": (2, 3), "4–9": (4, 9), "10 and more": (10, 99)}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, prediction in found.items():
    square = (prediction - rest["births"]) ** 2
    error = [np.sqrt(square[(seen >= low) & (seen <= high)].mean()) for low, high in bins.values()]
    ax.plot(list(bins), error, marker="o", label=name)
    print(f"{name:22s} R² {r2_score(rest['births'], prediction):.3f}, error by years seen {np.round(error, 2)}")
ax.set(xlabel="training years of the country", ylabel="error, births per woman", ylim=(0, None))
ax.legend()

# %%
# The posteriors of twelve countries, from frequent to rare.
PosteriorDisplay.from_estimator(model, "country").plot()

# %%
# Intervals for one year of four countries. Atlantis is unseen, so its interval is the widest.
some = known["country"].value_counts().index[[0, 60, -1]].tolist()
asked = pd.DataFrame({"country": [*some, "Atlantis"], "year": 1985})
lower, upper = model.predict_category_interval(asked)
answer = asked.assign(births=model.predict(asked), lower=lower, upper=upper)
answer["years seen"] = answer["country"].map(known["country"].value_counts()).fillna(0).astype(int)
print(answer.round(2).to_string(index=False))
plt.show()
