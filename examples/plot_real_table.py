"""
Does it help on a real table?
=============================

Births per woman in 200 countries since 1960, by the World Bank, as statsmodels ships them. Of most countries a model is
shown few years or one, as it is with customers, shops or postcodes; and then it is asked for the other years.
"""

# %%
# A row is a country in a year. Some countries are reported often and most of them seldom, and eight of them never.
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
# Three ways to give the country to the same LightGBM, which has the year as a number. What TargetEncoder gives depends
# much on the folds that it makes, so five of it are averaged.
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
# Root mean squared error on the other years, by how many of its years the model had seen of a country.
seen = rest["country"].map(known["country"].value_counts()).fillna(0)
bins = {"none": (0, 0), "1": (1, 1), "2–3": (2, 3), "4–9": (4, 9), "10 and more": (10, 99)}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, prediction in found.items():
    square = (prediction - rest["births"]) ** 2
    error = [np.sqrt(square[(seen >= low) & (seen <= high)].mean()) for low, high in bins.values()]
    ax.plot(list(bins), error, marker="o", label=name)
    print(f"{name:22s} R² {r2_score(rest['births'], prediction):.3f}, error by years seen {np.round(error, 2)}")
ax.set(xlabel="years of the country that were seen", ylabel="error, births per woman", ylim=(0, None))
ax.legend()

# %%
# What is believed of twelve countries, from those of which much is known to those of which hardly anything is.
PosteriorDisplay.from_estimator(model, "country").plot()

# %%
# And for a year of a country, an interval. The model was never told of Atlantis, and says so.
some = known["country"].value_counts().index[[0, 60, -1]].tolist()
asked = pd.DataFrame({"country": [*some, "Atlantis"], "year": 1985})
lower, upper = model.predict_category_interval(asked)
answer = asked.assign(births=model.predict(asked), lower=lower, upper=upper)
answer["years seen"] = answer["country"].map(known["country"].value_counts()).fillna(0).astype(int)
print(answer.round(2).to_string(index=False))
plt.show()
