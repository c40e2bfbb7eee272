"""
How does an encoder follow a drift?
===================================

`partial_fit` learns from today's rows what one fit on all rows so far would have learned. That is right as long as the
world stands still. Where it does not, `forget` lets old evidence fade before the new comes in.
"""

# %%
# Thirty shops, sixty days. On day thirty the rates of half of the shops change.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from catbayes import SamplingBayesianEncoder

random = np.random.default_rng(0)
n_shops, n_days, rows_a_day = 30, 60, 600
before, after = random.beta(2, 8, n_shops), random.beta(2, 8, n_shops)
after[::2] = before[::2]
names = np.array([f"shop {number:02}" for number in range(n_shops)])


def day(number: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of one day, and whether they were returned."""
    shop = random.integers(n_shops, size=rows_a_day)
    rate = (before if number < n_days // 2 else after)[shop]
    return pd.DataFrame({"shop": names[shop]}), (random.random(rows_a_day) < rate).astype(int)


# %%
# Three encoders get the same rows: one keeps all, one forgets a tenth a day, one starts anew every day.
rates = {"keeps all": 0.0, "forgets 10 % a day": 0.1, "today only": None}
encoders = {name: SamplingBayesianEncoder(random_state=0) for name in rates}
shops = pd.DataFrame({"shop": names})
errors: dict[str, list[float]] = {name: [] for name in rates}
for number in range(n_days):
    X, y = day(number)
    for name, rate in rates.items():
        if rate is None:
            encoders[name].fit(X, y)
        else:
            if number and rate:
                encoders[name].forget(rate)
            encoders[name].partial_fit(X, y)
        truth = before if number < n_days // 2 else after
        believed = encoders[name].transform(shops)[:, 0]
        errors[name].append(float(np.sqrt(np.mean((believed - truth) ** 2))))

# %%
# Keeping all is best while nothing changes, and slow to recover once it did.
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for name, values in errors.items():
    ax.plot(values, label=name)
ax.axvline(n_days // 2, color="0.6", linestyle=":")
ax.text(n_days // 2 + 0.5, 0.002, "rates change", color="0.4")
ax.set(xlabel="day", ylabel="error of the encoding", ylim=(0, None))
ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))

# %%
# Forgetting a tenth a day keeps the evidence of the last ten days or so, 1 / 0.1. The encoder knows that it knows less.
for name, encoder in encoders.items():
    beliefs = encoder.posteriors_["shop"]
    seen = beliefs[beliefs["kind"] == "seen"]
    print(f"{name:19} {seen['count'].mean():7.0f} rows a shop, ± {(seen['upper'] - seen['lower']).mean() / 2:.3f}")

plt.show()
