"""
Why does leave-one-out leak, and why do draws not?
==================================================

Leave-one-out encodes a row by the mean of the *other* rows of its category. That looks safe, and it is not: within a
category every row with a one has a lower mean than every row with a zero. A tree needs one split to see that.

We take a category that means nothing, so that no honest encoding can tell the target.
"""

# %%
# Four thousand rows, ten a category, and a coin for a target.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from catbayes import SamplingBayesianEncoder, Scaled
from catbayes.inspect import leakage

random = np.random.default_rng(0)
X, y = random.integers(400, size=(4000, 1)), random.integers(2, size=4000)
X_new, y_new = random.integers(400, size=(4000, 1)), random.integers(2, size=4000)

# %%
# Leave-one-out by hand, and draws from the posterior without the row, which is the same closed form with a draw on top.
count, ones = np.bincount(X[:, 0]), np.bincount(X[:, 0], y)
left_out = (ones[X[:, 0]] - y) / np.maximum(count[X[:, 0]] - 1, 1)

encoder = SamplingBayesianEncoder(prior=Scaled(0), temperature=1.0, random_state=0)
drawn = encoder.fit_transform(X, y)[:, 0]

# %%
# One category is enough to see it. Left out, the two targets are two values, and the ones are *below* the zeros. Drawn,
# they overlap: the step is 1/n, and the draws are spread by 1/√n.
some = X[:, 0] == np.argmax(count)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, encoded, title in ((axes[0], left_out, "left out"), (axes[1], drawn, "left out, then drawn")):
    for target, color in ((0, "C0"), (1, "C1")):
        rows = some & (y == target)
        ax.scatter(encoded[rows], random.uniform(0, 1, rows.sum()), color=color, alpha=0.7, label=f"y = {target}")
    ax.set(title=title, xlabel="encoding of the rows of one category", xlim=(0, 1), yticks=[])
axes[0].legend(frameon=False)

# %%
# What does a tree make of all categories? It learns from one half of the training encodings, and is asked about the
# other half, where a leak still helps, and about new rows, where it does not.
new = {"left out": ones / np.maximum(count, 1), "drawn": encoder.transform(np.arange(400).reshape(-1, 1))[:, 0]}
for name, encoded in (("left out", left_out), ("drawn", drawn)):
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(encoded[:2000].reshape(-1, 1), y[:2000])
    training = roc_auc_score(y[2000:], tree.predict_proba(encoded[2000:].reshape(-1, 1))[:, 1])
    held_out = roc_auc_score(y_new, tree.predict_proba(new[name][X_new[:, 0]].reshape(-1, 1))[:, 1])
    print(f"{name:8}  AUC on training encodings {training:.2f}, on new rows {held_out:.2f}")

# %%
# The truth is 0.5 for both. `catbayes.inspect.leakage` does this with folds and an interval, for any encoder.
leakage(encoder, X, y)

# %%
plt.show()
