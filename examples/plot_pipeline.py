"""
Can it be tuned inside a Pipeline?
==================================

The encoder is an ordinary scikit-learn transformer. GridSearchCV fits it inside each fold, so no held-out target is
ever seen, and its parameters are searched together with those of the model.
"""

# %%
# Payments again, with a numeric column that wants scaling. Encoded columns do not: they are rates already.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from catbayes import SamplingBayesianEncoder, Scaled
from catbayes.datasets import make_transactions

payments = make_transactions(8_000)
X, y = payments.table[["merchant", "city", "channel", "amount"]], payments.y
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

columns = make_column_transformer(
    (SamplingBayesianEncoder(random_state=0), ["merchant", "city", "channel"]),
    (make_pipeline(FunctionTransformer(np.log), StandardScaler()), ["amount"]),
    verbose_feature_names_out=False,
)
model = make_pipeline(columns, LogisticRegression(C=100.0))

# %%
# Is the learned prior any good? Search γ, the paper's way, next to it, with two mappings.
priors = [*map(Scaled, [1e-6, 1e-4, 1e-3, 1e-2, 1e-1]), "empirical"]
search = GridSearchCV(
    model,
    {
        "columntransformer__samplingbayesianencoder__prior": priors,
        "columntransformer__samplingbayesianencoder__mapping": ["mean", "weight_of_evidence"],
    },
    scoring="roc_auc",
    cv=5,
)
search.fit(X_train, y_train)
print("best:", {name.rpartition("__")[2]: value for name, value in search.best_params_.items()})
print(f"AUC in the folds {search.best_score_:.3f}, on held-out rows {search.score(X_test, y_test):.3f}")

# %%
# The strength of the prior matters, and "empirical" needs no search.
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
results = search.cv_results_
for mapping in ("mean", "weight_of_evidence"):
    rows = [p.get("columntransformer__samplingbayesianencoder__mapping") == mapping for p in results["params"]]
    ax.plot(results["mean_test_score"][rows], marker="o", linestyle=":", label=f'mapping="{mapping}"')
ax.set_xticks(range(len(priors)), [f"γ = {p.gamma:g}" if isinstance(p, Scaled) else '"empirical"' for p in priors])
ax.set(xlabel="prior", ylabel="AUC, cross-validated")
ax.legend(frameon=False)

plt.show()
