"""
Does it take polars, and give polars back?
==========================================

Tables go in as they are, and come out in the library that you ask for. Nothing is turned into pandas on the way.
"""

# %%
# A polars frame with a missing value, categories of two kinds, and numbers that pass through.
import matplotlib.pyplot as plt
import polars as pl

from catbayes import SamplingBayesianEncoder, gather
from catbayes.datasets import make_transactions

payments = make_transactions(10_000, frame="polars")
table = payments.table.with_columns(pl.col("channel").cast(pl.Categorical), fraud=payments.y)
print(table.select("merchant", "city", "channel", "hour", "amount").head(3))

# %%
# With `set_output`, polars comes out.
X = table.select("merchant", "city", "channel", "hour", "amount")
encoder = SamplingBayesianEncoder(random_state=0).set_output(transform="polars")
encoded = encoder.fit_transform(X, payments.y)
print(encoded.head(3))

# %%
# What is believed is a polars frame too, so ask it in polars.
beliefs = encoder.posteriors_["merchant"]
surest = (
    beliefs.filter(pl.col("kind") == "seen")
    .with_columns(width=pl.col("upper") - pl.col("lower"))
    .sort("lower", descending=True)
    .select("category", "count", "raw_mean", "mean", "lower", "upper")
    .head(10)
)
print(surest)

# %%
# A lazy frame is counted by polars itself; Python sees one row a category.
lazy = gather(table.lazy().select("merchant", "city", "channel", "fraud"), target="fraud")
print(SamplingBayesianEncoder(random_state=0).fit(lazy).columns_)

# %%
# The merchants that are most certainly bad, by the lower end of their intervals.
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
place = range(surest.height)
ax.hlines(place, surest["lower"], surest["upper"], linewidth=3, alpha=0.6)
ax.scatter(surest["mean"], place, zorder=3, label="believed")
ax.scatter(surest["raw_mean"], place, marker="|", color="black", s=90, label="counted")
labels = [f"{name}, {count:.0f} rows" for name, count in surest.select("category", "count").iter_rows()]
ax.set_yticks(place, labels)
ax.invert_yaxis()
ax.set_xlabel("fraud rate, with 90 % interval")
ax.legend(frameon=False)

plt.show()
