"""The encoder against scikit-learn's TargetEncoder, on simulated card payments whose truth is known.

Four columns go into a gradient-boosted model: the amount, which matters; the country and the merchant, whose fraud
rates differ, most merchants having only a few payments; and the device, thousands of codes that mean nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from catbayes import SamplingBayesianEncoder

N_ROWS, N_REPEATS = 20_000, 5
COLUMNS = ["amount", "country", "merchant", "device"]


def make_payments(seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Payments, whether each was fraud, and the true probability of it."""
    random = np.random.default_rng(seed)
    amount = random.exponential(size=N_ROWS).round(2)
    country = random.integers(0, 30, N_ROWS)
    merchant = np.minimum(random.zipf(1.3, N_ROWS), 4_000)
    device = random.integers(0, 8_000, N_ROWS)
    logit = -2.5 + 0.8 * amount + random.normal(0, 0.5, 30)[country] + random.normal(0, 1.0, 4_001)[merchant]
    truth = 1 / (1 + np.exp(-logit))
    names = [
        np.char.add(letter, codes.astype(str)) for letter, codes in zip("CMD", (country, merchant, device), strict=True)
    ]
    return np.array([amount, *names], dtype=object).T, (random.random(N_ROWS) < truth).astype(int), truth


def encoders() -> dict[str, Any]:
    """Each gets the three categorical columns, and lets the amount through."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return {
        "TargetEncoder (scikit-learn)": make_column_transformer(
            (TargetEncoder(cv=folds), [1, 2, 3]), remainder="passthrough"
        ),
        "SamplingBayesianEncoder": SamplingBayesianEncoder([1, 2, 3], random_state=0),
    }


def main() -> None:
    """Score each encoder on new payments, over several simulated tables."""
    print(f"{N_REPEATS} simulated tables of {N_ROWS:,} card payments; columns {', '.join(COLUMNS)}.")
    print("A gradient-boosted model learns from one half of each table and predicts the other.\n")
    results: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(N_REPEATS):
        X, y, truth = make_payments(seed)
        train, test = np.arange(0, N_ROWS, 2), np.arange(1, N_ROWS, 2)
        for name, encoder in encoders().items():
            model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
            model.fit(np.asarray(encoder.fit_transform(X[train], y[train]), dtype=float), y[train])
            predicted = model.predict_proba(np.asarray(encoder.transform(X[test]), dtype=float))[:, 1]
            miss = np.sqrt(np.mean((predicted - truth[test]) ** 2))
            found = (roc_auc_score(y[test], predicted), log_loss(y[test], predicted), miss)
            results.setdefault(name, []).append(found)
        perfect = (roc_auc_score(y[test], truth[test]), log_loss(y[test], truth[test]), 0.0)
        results.setdefault("the truth itself", []).append(perfect)

    print(f"{'':30}{'AUC':>8}{'log-loss':>12}{'error of the probability':>28}")
    for name, scores in results.items():
        auc, loss, miss = np.mean(scores, axis=0)
        print(f"{name:30}{auc:8.4f}{loss:12.4f}{miss:28.4f}")
    theirs, ours = (np.array(results[name]) for name in encoders())
    gain = theirs[:, 1] - ours[:, 1]
    error = gain.std(ddof=1) / np.sqrt(N_REPEATS)
    saved = f"{gain.mean():.4f} ± {error:.4f} (standard error over {N_REPEATS} tables)"
    print(f"\nLog-loss saved against TargetEncoder: {saved}.")

    encoder = SamplingBayesianEncoder([1, 2, 3], random_state=0).fit(X, y)
    print("\nHow strong a prior each column was found to need, in payments:")
    for name, column in zip(COLUMNS[1:], encoder.columns_fitted_, strict=True):
        strength = float(column.posterior.prior.strength)
        print(
            f"  {name:10}{strength:12,.0f}{'   (no signal: every code stays at the mean)' if strength > N_ROWS else ''}"
        )


if __name__ == "__main__":
    main()
