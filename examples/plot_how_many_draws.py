"""
How many draws?
===============

One draw is one possible table. More draws cost more, and after a few there is little left to gain: this is figure 1 of
the paper, on a table of our own.
"""

# %%
# Payments with many rare merchants, where draws matter most.
import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from catbayes import SamplingClassifier
from catbayes.datasets import make_transactions
from catbayes.inspect import DrawsDisplay

payments = make_transactions(6_000)
X, y = payments.table.drop(columns=["time", "device"]), payments.y

# %%
# A forest on copies. Every K is scored on the same folds.
forest = RandomForestClassifier(40, min_samples_leaf=5, random_state=0)
model = SamplingClassifier(forest, random_state=0)
display = DrawsDisplay.from_estimator(model, X, y, n_draws=(1, 2, 5, 10), cv=3, scoring="roc_auc")
display.plot()
display.figure_.set_size_inches(6.4, 3.8)

# %%
# The band is one standard deviation over folds, and the same folds are hard for every K, so compare the points, and not
# the bands.
display.frame().round(4)

# %%
plt.show()
