"""What the fitted estimators say of their features, and what the features are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from catbayes._encoder import input_names
from catbayes.core.table import make_frame
from catbayes.core.types import Labels, TableLike
from catbayes.core.validation import Array
from catbayes.errors import InputError
from catbayes.models.native import Known, last_step


class FittedFeatures:
    """Importances and coefficients of a fitted model, by output or by column."""

    estimators_: list[Any]
    n_features_in_: int
    _layout: Any
    _known: Known
    _read_new: Any

    @property
    def estimator_(self) -> Any:
        """The fitted estimator; `estimators_` holds them all where there are several members."""
        check_is_fitted(self)
        if len(self.estimators_) > 1:
            raise AttributeError(f"There are {len(self.estimators_)} fitted members: see estimators_.")
        return self.estimators_[0]

    @property
    def feature_importances_(self) -> Array:
        """Importance of each output, as the estimator has it, averaged over members."""
        return self._average_of("feature_importances_")

    @property
    def coef_(self) -> Array:
        """Coefficient of each output, as the estimator has it, averaged over members."""
        return self._average_of("coef_")

    def _average_of(self, name: str) -> Array:
        if "estimators_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet, and has no {name}.")
        values = np.asarray(np.mean([getattr(last_step(model), name) for model in self.estimators_], axis=0))
        if values.shape[-1] != self._layout.places[-1].stop:
            raise AttributeError(f"{name} belongs to features that the steps of the Pipeline made of the encoded ones.")
        return values

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Labels:
        """Names of the features that the estimator was fitted on, which `feature_importances_` and `coef_` refer to.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the input columns, for a model fitted on an array.

        Returns
        -------
        names : ndarray of str
            One name for each output.
        """
        check_is_fitted(self)
        return np.array(self._layout.distinct_names(input_names(self, input_features)), dtype=object)

    def features(self, X: TableLike) -> Any:
        """Encode new rows as the fitted estimators see them, by the posterior expectation: for SHAP and the like.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to `fit`.

        Returns
        -------
        features : array or frame of shape (n_rows, n_outputs)
            A frame of the library that X came in, its columns called as LightGBM, XGBoost and CatBoost call them: as
            in `get_feature_names_out`, but for blanks, brackets and the like, which become underscores.

        Examples
        --------
        >>> import pandas as pd
        >>> from lightgbm import LGBMRegressor
        >>> from catbayes import SamplingRegressor
        >>> X = pd.DataFrame({"home city": ["Oslo", "Rome", "Oslo", "Rome", "Kyiv"] * 20, "age": range(100)})
        >>> y = [10.0, 2.0, 11.0, 3.0, 5.5] * 20
        >>> model = SamplingRegressor(LGBMRegressor(verbose=-1), random_state=0).fit(X, y)
        >>> model.estimator_.feature_name_
        ['home_city', 'home_city_effect', 'home_city_code', 'age']
        >>> model.features(X).columns.tolist()
        ['home_city', 'home_city_effect', 'home_city_code', 'age']
        """
        rows = self._read_new(X)
        values = rows.features(rows.expected())
        if rows.table.frame is None:
            return values
        codes, names = self._known.categories, self._known.names
        columns = [values[:, n].astype(np.int64) if n in codes else values[:, n].copy() for n in range(len(names))]
        return make_frame(dict(zip(names, columns, strict=True)), rows.table.backend)

    def by_column(self, values: npt.ArrayLike) -> dict[Any, Any]:
        """Average importances or coefficients over the outputs of each input column.

        Parameters
        ----------
        values : array-like, its last axis as long as `get_feature_names_out()`
            Such as `feature_importances_` or `coef_`.

        Returns
        -------
        dict
            A number or array for each input column, by its name or, for an array, by its position, and for each
            interaction, by the tuple of its columns.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from catbayes import SamplingBayesianEncoder, SamplingRegressor
        >>> X, y = [["red", 1], ["blue", 2], ["red", 3], ["blue", 4]] * 5, [3.0, 1.0, 2.5, 1.5] * 5
        >>> model = SamplingRegressor(Ridge(), SamplingBayesianEncoder([0], mapping="polynomial"), random_state=0)
        >>> model.fit(X, y).get_feature_names_out().tolist()
        ['x0_mean', 'x0_square', 'x0_effect', 'x0_is_blue', 'x0_is_red', 'x1']
        >>> list(model.by_column(model.coef_))
        [0, 1]
        """
        check_is_fitted(self)
        values = np.asarray(values)
        if values.shape[-1:] != (self._layout.places[-1].stop,):
            raise InputError(
                f"values has shape {values.shape}: expected its last axis to be as long as get_feature_names_out()."
            )
        inputs = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = [*inputs, *(column.name for column in self._layout.interactions)]
        pairs = zip(names, self._layout.places, strict=True)
        averages = {name: values[..., place].mean(axis=-1) for name, place in pairs if place.stop > place.start}
        return {name: float(mean) if mean.ndim == 0 else mean for name, mean in averages.items()}
