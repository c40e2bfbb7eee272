"""A layer that feeds a neural network with draws: an embedding whose vectors are posteriors instead of weights."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from catbayes._encoding import EncodedColumn
from catbayes._validation import check_count
from catbayes.encoder import SamplingBayesianEncoder
from catbayes.errors import InputError
from catbayes.families import BetaBernoulli, DirichletCategorical, Family, GammaPoisson, NormalGamma
from catbayes.mappings import Identity, Mapping, Mean, Polynomial, WeightOfEvidence
from catbayes.sampling import Spread

try:
    import torch
    from torch import nn
except ImportError as error:
    raise ImportError("catbayes.torch needs PyTorch: pip install 'catbayes[torch]'.") from error

__all__ = ["PosteriorEmbedding"]


class PosteriorEmbedding(nn.Module):
    """Category codes in, f(θ) out: fresh draws at every forward in `train()`, the expectation in `eval()`.

    Each row has a draw of its own. Posteriors are buffers, in torch's default precision: they move with `to(device)`,
    and `state_dict` holds them. Gradients flow to whatever follows; the posteriors themselves are not trained. For
    amounts, the drawn mean is given as the difference from that of an unseen category, which single precision can hold.

    Parameters
    ----------
    encoder : fitted SamplingBayesianEncoder
        Its `mapping` is "mean", "identity", "polynomial" or "weight_of_evidence".
    eval_draws : int or None
        None: `eval()` gives the expectation, (row, output). K: it gives K stratified draws of each category,
        (draw, row, output); average what the network makes of them over the first axis.
    generator : torch.Generator, optional
        Source of the training draws; torch's own if None.

    Examples
    --------
    >>> import torch
    >>> from catbayes import SamplingBayesianEncoder
    >>> from catbayes.torch import PosteriorEmbedding
    >>> X, y = [["red"], ["red"], ["blue"], ["blue"]] * 10, [1, 1, 0, 1] * 10
    >>> encoder = SamplingBayesianEncoder(prior=0, random_state=0).fit(X, y)
    >>> embedding = PosteriorEmbedding(encoder)
    >>> network = torch.nn.Sequential(embedding, torch.nn.Linear(embedding.n_outputs, 1))
    >>> codes = embedding.codes(X)
    >>> embedding(codes, torch.tensor(y)).shape  # training: a draw for each row, its own target left out
    torch.Size([40, 1])
    >>> embedding.eval()(embedding.codes([["red"], ["blue"], ["green"]])).squeeze(1)
    tensor([0.9545, 0.5000, 0.5000])
    >>> PosteriorEmbedding(encoder, eval_draws=5).eval()(codes).shape
    torch.Size([5, 40, 1])
    """

    def __init__(
        self, encoder: SamplingBayesianEncoder, *, eval_draws: int | None = None, generator: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(encoder, SamplingBayesianEncoder) or not hasattr(encoder, "encoding_"):
            raise InputError(f"encoder={encoder!r}: expected a fitted SamplingBayesianEncoder.")
        if eval_draws is not None:
            check_count("eval_draws", eval_draws)
        self.generator = generator
        self.eval_draws = eval_draws
        self._encoder = copy.deepcopy(encoder)  # as it is now, should it be fitted again
        self._encoding = encoder.encoding_
        self._columns = self._encoding.columns
        self._family = encoder.family_
        self._names: list[str] = list(self._columns[0].family.arrays())
        self.n_outputs = sum(column.expectation.shape[1] for column in self._columns)
        for number, column in enumerate(self._columns):
            _require_drawn(column.mapping)
            for name, value in self._tables(column).items():
                value = torch.as_tensor(np.array(value, dtype=np.float64)).to(torch.get_default_dtype())
                self.register_buffer(f"{name}_{number}", value)

    def _tables(self, column: EncodedColumn) -> dict[str, Any]:
        """What is kept of a column, a row for each category, and the origin that means are measured from."""
        posterior, mapping = column.family, column.mapping
        tables = {name: getattr(posterior, name) for name in self._names}
        tables |= {"count": column.entries.count, "expectation": column.expectation}
        tables |= {"baseline": getattr(mapping, "baseline", 0.0), "origin": 0.0}
        if column.posteriors.index.levels:
            own = column.posteriors.prior.at(slice(None))
            tables |= {f"own_{name}": values for name, values in own.arrays().items()}
            tables["doubt"] = column.entries.prior_variance
        if self.eval_draws is not None:
            tables["draws"] = column.strata(self.eval_draws, seed=self._encoding.seed)
        if isinstance(posterior, NormalGamma) and not isinstance(mapping, Polynomial):
            tables["origin"] = posterior.centre[column.posteriors.index.unseen]
            shift = np.zeros(column.expectation.shape[1])
            shift[0] = tables["origin"]
            for centre in {"centre", "own_centre"} & tables.keys():
                tables[centre] = tables[centre] - tables["origin"]
            tables["expectation"] = tables["expectation"] - shift
            if self.eval_draws is not None:
                tables["draws"] = tables["draws"] - shift
        return tables

    def codes(self, X: Any) -> torch.Tensor:
        """Translate the encoded columns of a table to codes, which `forward` takes.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Like the one given to the `fit` of the encoder.

        Returns
        -------
        codes : LongTensor of shape (n_rows, n_encoded_columns)
            On the device of the layer.
        """
        table = self._encoder._read_new(X)
        codes = self._encoding.slots(table.column)
        return torch.as_tensor(np.stack(codes, axis=1).astype(np.int64), device=self.count_0.device)

    def forward(
        self, codes: torch.Tensor, target: torch.Tensor | None = None, weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Features of rows.

        Parameters
        ----------
        codes : LongTensor of shape (n_rows, n_encoded_columns)
            From `codes`.
        target : tensor of n_rows values, optional
            In training: the rows' own targets, class numbers or amounts as `fit` took them, which are left out of
            their posteriors. Give them whenever the rows are among those that the encoder was fitted on.
        weight : tensor of n_rows values, optional
            Their weights, if the encoder was fitted with any. If it was fitted with `exposure`, the targets are events
            per unit and the weights w · e.

        Returns
        -------
        features : tensor of shape (n_rows, n_outputs), or (n_draws, n_rows, n_outputs) with `eval_draws`
            f(θ) of every encoded column, side by side.
        """
        if codes.ndim != 2 or codes.shape[1] != len(self._columns):
            raise InputError(f"codes has shape {tuple(codes.shape)}: expected (n_rows, {len(self._columns)}).")
        if self.training:
            if target is not None:
                target, weight = self._check_target(codes, target, weight)
            parts = [self._draw(number, codes[:, number], target, weight) for number in range(len(self._columns))]
        elif self.eval_draws is None:
            parts = [self._buffer("expectation", number)[codes[:, number]] for number in range(len(self._columns))]
        else:
            parts = [self._buffer("draws", number)[:, codes[:, number]] for number in range(len(self._columns))]
        return torch.cat(parts, dim=-1)

    def _check_target(self, codes: torch.Tensor, target: torch.Tensor, weight: Any) -> tuple[torch.Tensor, Any]:
        if not self._encoding.hides:
            raise InputError(
                "Draws with these settings do not hide that a target was taken out of them (draws.temperature, "
                "draws.per, weights, or counts far from Poisson's; see own_target): train on "
                "SamplingBayesianEncoder.fit_draws."
            )
        if self._encoding.evidence.weighted and weight is None:
            raise InputError(
                "The encoder was fitted with sample_weight or exposure: give the weight of each row with its target."
            )
        target = target.reshape(-1).to(codes.device)
        n_classes = 0 if self._encoder.classes_ is None else len(self._encoder.classes_)
        if len(target) != len(codes) or (n_classes and not ((target >= 0) & (target < n_classes)).all()):
            wanted = f"class numbers from 0 to {n_classes - 1}" if n_classes else "numbers"
            raise InputError(f"target has {len(target)} values for {len(codes)} rows: expected {wanted}, one for each.")
        if self._family.log_target:
            if not (target > 0).all():
                raise InputError(f'target holds {float(target.min()):g}: family="lognormal" takes amounts > 0.')
            target = torch.log(target.double())
        return target, torch.ones_like(target) if weight is None else weight.reshape(-1).to(codes.device)

    def _buffer(self, name: str, number: int) -> torch.Tensor:
        return self.get_buffer(f"{name}_{number}")

    def _without_rows(self, number: int, code: torch.Tensor, alone: torch.Tensor) -> list[torch.Tensor]:
        """Posterior parameters of each row; where it is alone in its category, those of one without rows."""
        column = self._columns[number]
        if not column.posteriors.index.levels:
            code = torch.where(alone, column.posteriors.index.unseen, code)
            return [self._buffer(name, number)[code] for name in self._names]
        pairs = [(self._buffer(f"own_{name}", number)[code], self._buffer(name, number)[code]) for name in self._names]
        return [torch.where(alone if own.ndim == 1 else alone[:, None], own, whole) for own, whole in pairs]

    def _draw(self, number: int, code: torch.Tensor, target: torch.Tensor | None, weight: Any) -> torch.Tensor:
        column, count = self._columns[number], self._buffer("count", number)[code]
        if target is None:
            entry = [self._buffer(name, number)[code] for name in self._names]
        else:
            weight = weight.to(count.dtype)
            alone = count - weight <= 1e-6 * count  # nothing else is known: as if unseen
            whole = self._without_rows(number, code, alone)
            y = (target.double() - self._buffer("origin", number).double()).to(count.dtype)
            weight = torch.where(alone | column.spread.keeps_own(count, weight), 0.0, weight)
            entry = _leave_out(self._family, whole, y, weight)
            count = torch.where(alone, 0.0, count - weight)
        if column.posteriors.index.levels and column.spread.temperature is None:
            entry = _settle(self._family, entry, count, self._buffer("doubt", number)[code])
        theta = _sample(self._family, entry, self.generator)
        if not column.spread.full:
            mean = _mean(self._family, entry)
            strength, doubt = _strength(self._family, entry), None
            if column.posteriors.index.levels:
                doubt = self._buffer("doubt", number)[code] * (strength + float(self._family.classes))
            theta = mean + _factor(column.spread, count, strength, doubt)[:, None] * (theta - mean)
        return _map(column.mapping, theta, self._buffer("baseline", number))


def _factor(spread: Spread, count: torch.Tensor, strength: torch.Tensor, doubt: torch.Tensor | None) -> torch.Tensor:
    """How far draws lie from the mean: `Spread.factor`."""
    share = count / strength.clamp_min(torch.finfo(count.dtype).tiny)
    if doubt is not None:
        share = (share + (1.0 - share) ** 2 * doubt).clamp_max(1.0)
    by_count = torch.sqrt(share)
    factor = by_count if spread.temperature is None else torch.full_like(count, spread.temperature)
    return torch.where(spread.is_steady(count), 0.0, factor)


def _settle(
    family: type[Family], entry: list[torch.Tensor], count: torch.Tensor, doubt: torch.Tensor
) -> list[torch.Tensor]:
    """What entries without rows are drawn from: `Spread.settle`."""
    strength = _strength(family, entry)
    known = (1.0 / doubt.clamp_min(torch.finfo(doubt.dtype).tiny) - float(family.classes)).clamp_min(1e-3)
    strength, before = torch.where((count == 0) & (doubt > 0), known, strength), strength
    if issubclass(family, NormalGamma):
        return [entry[0], strength, *entry[2:]]
    ratio = strength / before
    return [values * (ratio if values.ndim == 1 else ratio[:, None]) for values in entry]


def _require_drawn(mapping: Mapping) -> None:
    if type(mapping) not in (Mean, Identity, Polynomial, WeightOfEvidence):
        raise InputError(
            f"PosteriorEmbedding draws in torch and knows the mappings mean, identity, polynomial and "
            f"weight_of_evidence, not {type(mapping).__name__}."
        )


def _leave_out(
    family: type[Family], entry: list[torch.Tensor], y: torch.Tensor, weight: torch.Tensor
) -> list[torch.Tensor]:
    """The parameters without one weighted observation, as the family's own `leave_out`."""
    tiny = torch.finfo(entry[0].dtype).tiny
    if family is DirichletCategorical:
        own = nn.functional.one_hot(y.long(), entry[0].shape[-1]) * weight[:, None]
        return [(entry[0] - own).clamp_min(tiny)]
    if family is BetaBernoulli:
        return [(entry[0] - weight * y).clamp_min(tiny), (entry[1] - weight * (1.0 - y)).clamp_min(tiny)]
    if family is GammaPoisson:
        return [(entry[0] - weight * y).clamp_min(tiny), entry[1] - weight]
    centre, strength, alpha, beta = entry
    gap, rest = centre - y, strength - weight
    left = torch.maximum(beta - weight * strength / rest * gap**2 / 2.0, torch.finfo(beta.dtype).eps * beta)
    return [centre + weight * gap / rest, rest, alpha - weight / 2.0, left]


def _log_gamma(alpha: torch.Tensor, generator: Any) -> torch.Tensor:
    """Logarithm of a Gamma(α) draw, kept finite for tiny α: Gamma(α) = Gamma(α + 1) · U^(1/α)."""
    draw = torch._standard_gamma(alpha + 1.0, generator=generator)
    uniform = torch.rand(alpha.shape, generator=generator, device=alpha.device, dtype=alpha.dtype)
    lowest = -torch.finfo(alpha.dtype).max / 4.0
    return torch.log(draw) + (torch.log1p(-uniform) / alpha).clamp_min(lowest)


def _sample(family: type, entry: list[torch.Tensor], generator: Any) -> torch.Tensor:
    """Draw θ, (row, parameter)."""
    if family is BetaBernoulli:
        return torch.sigmoid(_log_gamma(entry[0], generator) - _log_gamma(entry[1], generator))[:, None]
    if family is DirichletCategorical:
        return torch.softmax(_log_gamma(entry[0], generator), dim=-1)
    if family is GammaPoisson:
        return (torch.exp(_log_gamma(entry[0], generator)) / entry[1])[:, None]
    centre, strength, alpha, beta = entry
    precision = (torch.exp(_log_gamma(alpha, generator)) / beta).clamp_min(torch.finfo(beta.dtype).tiny)
    noise = torch.randn(centre.shape, generator=generator, device=centre.device, dtype=centre.dtype)
    return torch.stack([centre + noise / torch.sqrt(strength * precision), precision], dim=-1)


def _strength(family: type, entry: list[torch.Tensor]) -> torch.Tensor:
    """How many rows each entry is worth."""
    if family is BetaBernoulli:
        return entry[0] + entry[1]
    return entry[0].sum(dim=-1) if family is DirichletCategorical else entry[1]


def _mean(family: type, entry: list[torch.Tensor]) -> torch.Tensor:
    """E θ, (row, parameter)."""
    if family is BetaBernoulli:
        return (entry[0] / (entry[0] + entry[1]))[:, None]
    if family is DirichletCategorical:
        return entry[0] / entry[0].sum(dim=-1, keepdim=True)
    if family is GammaPoisson:
        return (entry[0] / entry[1])[:, None]
    return torch.stack([entry[0], entry[2] / entry[3]], dim=-1)


def _map(mapping: Mapping, theta: torch.Tensor, baseline: torch.Tensor) -> torch.Tensor:
    """f(θ), (row, output)."""
    theta = theta[..., mapping.select]
    if isinstance(mapping, Polynomial):
        return torch.cat([theta, theta**2], dim=-1)
    if isinstance(mapping, WeightOfEvidence):
        edge = torch.finfo(theta.dtype).eps
        return torch.logit(theta.clamp(edge, 1.0 - edge)) - baseline
    return theta
