"""Importance of each column for a model, under another encoding and under draws (the paper's figure 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import TargetEncoder

from catbayes.core.table import Table, name_of
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.estimator_input import read_table, read_y
from catbayes.inspect._display import Display, drawable, height_of_rows, label_rows, legend_above
from catbayes.inspect._one_column import check_encoder, for_columns, outputs, part


@dataclass(eq=False, repr=False)
class ImportanceDisplay(Display):
    """Feature importances of each column, under another encoding and under draws (the paper's figure 3).

    Importances are those of the estimator, summed over the outputs of a column, as shares of their total.
    `plot(**style)` styles the bars.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from catbayes import SamplingBayesianEncoder, SamplingClassifier
    >>> from catbayes.inspect import ImportanceDisplay
    >>> random = np.random.default_rng(0)
    >>> X, y = random.integers(40, size=(200, 2)), random.integers(2, size=200)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> model = SamplingClassifier(forest, SamplingBayesianEncoder([0]), random_state=0)
    >>> display = ImportanceDisplay.from_estimator(model, X, y)
    >>> display.columns, float(display.reference.sum().round(6)), float(display.sampling.sum().round(6))
    ([0, 1], 1.0, 1.0)
    """

    columns: list[Any]  # interactions are tuples
    encoded: list[bool]
    reference: Array
    sampling: Array
    reference_name: str = "TargetEncoder"
    target: str | None = None
    library: Any = None

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, reference: Any = None) -> ImportanceDisplay:
        """Fit the same estimator on draws and on another encoding.

        Parameters
        ----------
        estimator : SamplingClassifier or SamplingRegressor
            With an estimator that has `feature_importances_`; cloned.
        X, y
            Table and target.
        reference : transformer, optional
            The other encoder, scikit-learn's TargetEncoder if None. It encodes the same columns, one at a time, by
            `fit_transform`.

        Returns
        -------
        ImportanceDisplay
            `reference` and `sampling` are the shares, in the order of `columns`.
        """
        if not hasattr(estimator, "predict_draws") or estimator.estimator is None:
            raise InputError(
                f"estimator={estimator!r}: expected a SamplingClassifier or SamplingRegressor of an estimator that has "
                "feature_importances_, such as SamplingClassifier(RandomForestClassifier())."
            )
        if reference is None:
            reference = TargetEncoder(target_type="auto" if is_classifier(estimator) else "continuous")
        check_encoder(reference)
        model = clone(estimator).fit(X, y)
        target, table, y = name_of(y), read_table(X, model), read_y(y)
        encoded = [] if model.encoder_ is None else list(model.encoder_.columns_)
        classes = is_classifier(estimator)
        blocks = [_block(reference, table, i, y, name in encoded, classes) for i, name in enumerate(table.names)]
        plain = clone(estimator.estimator)
        if plain.get_params().get("random_state", 0) is None:
            plain.set_params(random_state=0)
        plain.fit(np.hstack(blocks), y)
        while isinstance(plain, Pipeline):
            plain = plain.steps[-1][1]
        column_of = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
        features = {name: column_of == i for i, name in enumerate(table.names)}
        n_features = len(model.get_feature_names_out())
        own = {name: share > 0 for name, share in model.by_column(np.eye(n_features)).items()}
        columns = [*table.names, *(name for name in own if name not in table.names)]  # interactions last
        return cls(
            columns=columns,
            encoded=[name in encoded or name not in table.names for name in columns],
            reference=_shares(plain, features, columns),
            sampling=_shares(model, own, columns),
            reference_name=type(reference).__name__,
            target=target,
            library=table.backend,
        )

    def _record(self) -> dict[str, Any]:
        numbers = {"reference": self.reference, "sampling": self.sampling}
        return {"column": self.columns, "encoded": np.array(self.encoded)} | numbers

    def _size(self) -> tuple[float, float]:
        return 6.4, height_of_rows(len(self.columns)) + 0.1 * len(self.columns)

    def _draw(self, ax: Any, style: dict[str, Any]) -> None:
        order = np.argsort(-self.reference, kind="stable")
        marks = ["  (categorical)" if own else "" for own in self.encoded]
        place = np.arange(len(order))
        ax.barh(place - 0.19, self.reference[order], 0.36, **({"color": "0.72", "label": self.reference_name} | style))
        ax.barh(place + 0.19, self.sampling[order], 0.36, **({"color": "C0", "label": "draws"} | style))
        label_rows(ax, [drawable(self.columns[row]) + marks[row] for row in order])
        ax.set_xlabel("share of the feature importance")
        legend_above(ax)


def _block(encoder: Any, table: Table, position: int, y: Any, encoded: bool, classes: bool) -> Array:
    """The features of one column: its encoding, or its numbers."""
    if encoded:
        encoder = for_columns(encoder, table, [position], classes=classes, seed=position)
        return outputs(encoder.fit_transform(part(table, [position]), y))
    return np.asarray(table.values(position), dtype=np.float64)[:, None]


def _shares(fitted: Any, features: dict[Any, Array], columns: list[Any]) -> Array:
    """Importances summed over the features of each column, as shares of their total; 0 for a column without any."""
    importances = np.asarray(getattr(fitted, "feature_importances_", ()), dtype=np.float64)
    if importances.shape != next(iter(features.values())).shape:
        raise InputError(
            f"{type(fitted).__name__} has no feature_importances_, one for each feature: use a forest or boosted trees."
        )
    sums = np.array([importances[features[name]].sum() if name in features else 0.0 for name in columns])
    return np.asarray(sums / (sums.sum() or 1.0))
