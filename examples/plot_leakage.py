"""
Why does target encoding leak, and how do draws prevent it?
============================================================

Leave-one-out encodes a row by the mean of the *other* rows of its category. It looks safe, but within a category every
row with target 1 gets a lower mean than every row with target 0. A tree finds that with one split.

The category in this example is pure noise, so no encoding can honestly predict the target.
"""

# %%
# 4,000 rows, ten per category, and a random target.
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
# Leave-one-out by hand, and draws from the posterior without the row.
count, ones = np.bincount(X[:, 0]), np.bincount(X[:, 0], y)
left_out = (ones[X[:, 0]] - y) / np.maximum(count[X[:, 0]] - 1, 1)

encoder = SamplingBayesianEncoder(prior=Scaled(0), temperature=1.0, random_state=0)
drawn = encoder.fit_transform(X, y)[:, 0]

# %%
# The rows of one category. With leave-one-out there are two values, and the ones are *below* the zeros. Draws
# overlap: the two means differ by 1/n, and draws have a standard deviation of about 1/√n.
some = X[:, 0] == np.argmax(count)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for ax, encoded, title in ((axes[0], left_out, "leave-one-out"), (axes[1], drawn, "draws")):
    for target, color in ((0, "C0"), (1, "C1")):
        rows = some & (y == target)
        ax.scatter(encoded[rows], random.uniform(0, 1, rows.sum()), color=color, alpha=0.7, label=f"y = {target}")
    ax.set(title=title, xlabel="encoding of the rows of one category", xlim=(0, 1), yticks=[])
axes[0].legend(frameon=False)

# %%
# A tree is trained on one half of the training features. Its score on the other half includes the leak; its score on
# new rows does not.
new = {"leave-one-out": ones / np.maximum(count, 1), "draws": encoder.transform(np.arange(400).reshape(-1, 1))[:, 0]}
for name, encoded in (("leave-one-out", left_out), ("draws", drawn)):
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(encoded[:2000].reshape(-1, 1), y[:2000])
    training = roc_auc_score(y[2000:], tree.predict_proba(encoded[2000:].reshape(-1, 1))[:, 1])
    held_out = roc_auc_score(y_new, tree.predict_proba(new[name][X_new[:, 0]].reshape(-1, 1))[:, 1])
    print(f"{name:13}  AUC on training features {training:.2f}, on new rows {held_out:.2f}")

# %%
# The true AUC is 0.5. `catbayes.inspect.leakage` measures this for any encoder, with cross-validation and an interval.
leakage(encoder, X, y)

# %%
plt.show()
