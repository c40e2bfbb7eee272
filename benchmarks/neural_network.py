"""A neural network on posteriors instead of learned embeddings, on Adult and on Amazon Employee Access.

    CATBAYES_DATA=folder python benchmarks/neural_network.py    # or from OpenML, if the folder is not set

The same small network is trained twice on each table: once with an embedding vector learned for each category, once
with a `PosteriorEmbedding`, which draws the rate of each category afresh at every step, the row's own target left out.
Adult has few, frequent categories; Amazon's are rare, and learned vectors overfit them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import torch
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn

from catbayes import SamplingBayesianEncoder
from catbayes.datasets import load
from catbayes.torch import PosteriorEmbedding

EPOCHS, BATCH = 10, 256


def read(name: str) -> tuple[pandas.DataFrame, np.ndarray[Any, Any]]:
    """A table, its integer codes made text, and its target, 0 or 1."""
    data = load(name)
    codes = [column for column in data.categorical if pandas.api.types.is_numeric_dtype(data.table[column])]
    return data.table.astype(dict.fromkeys(codes, str)), data.y


class LearnedEmbedding(nn.Module):
    """A vector of eight learned numbers for each category of each column."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 8) for size in sizes)
        self.n_outputs = 8 * len(sizes)

    def forward(self, codes: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Look the vectors up; there is no target to leave out."""
        return torch.cat([table(codes[:, number]) for number, table in enumerate(self.tables)], dim=-1)


class Network(nn.Module):
    """Embedded categories and standardised numbers, through two hidden layers."""

    def __init__(self, embedding: Any, n_numbers: int) -> None:
        super().__init__()
        self.embedding = embedding
        width = embedding.n_outputs + n_numbers
        self.layers = nn.Sequential(
            nn.BatchNorm1d(width), nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
        )

    def forward(self, codes: torch.Tensor, numbers: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Logit of the target; in evaluation over draws, the embedding has one more axis in front."""
        embedded = self.embedding(codes, target)
        if embedded.ndim == 2:
            return self.layers(torch.cat([embedded, numbers], dim=-1))[:, 0]
        draws = [self.layers(torch.cat([draw, numbers], dim=-1))[:, 0] for draw in embedded]
        return torch.logit(torch.sigmoid(torch.stack(draws)).mean(dim=0))


def train(network: Network, codes: torch.Tensor, numbers: torch.Tensor, y: torch.Tensor) -> None:
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3, weight_decay=1e-5)
    network.train()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimiser.zero_grad()
            logit = network(codes[rows], numbers[rows], y[rows])
            nn.functional.binary_cross_entropy_with_logits(logit, y[rows]).backward()
            optimiser.step()


def main() -> None:
    """Train both networks on both tables, and score them on rows held out."""
    for name in ("adult", "amazon"):
        X, y = read(name)
        train_rows, test_rows = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0, stratify=y)
        # The posterior on a scale that networks like: the log-odds of the rate against the average.
        encoder = SamplingBayesianEncoder(mapping="weight_of_evidence", random_state=0)
        encoder.fit(X.iloc[train_rows], y[train_rows])
        posterior = PosteriorEmbedding(encoder, eval_draws=10)
        codes = posterior.codes(X)
        numeric = X.drop(columns=encoder.columns_).to_numpy(dtype=np.float32)
        mean, scale = numeric[train_rows].mean(axis=0), numeric[train_rows].std(axis=0)
        numbers = torch.tensor((numeric - mean) / scale, dtype=torch.float32)
        target = torch.tensor(y, dtype=torch.float32)
        sizes = [column.index.n_slots for column in encoder.evidence_.columns]
        print(f"{name}: {len(y):,} rows, {len(sizes)} categorical columns with {sum(sizes):,} categories")
        for label, make in (
            ("learned embeddings", lambda s=sizes: LearnedEmbedding(s)),
            ("posteriors", lambda p=posterior: p),
        ):
            torch.manual_seed(0)
            network = Network(make(), numbers.shape[1])
            train(network, codes[train_rows], numbers[train_rows], target[train_rows])
            network.eval()
            with torch.no_grad():
                probability = torch.sigmoid(network(codes[test_rows], numbers[test_rows])).numpy()
            trained = sum(parameter.numel() for parameter in network.parameters())
            auc, loss = roc_auc_score(y[test_rows], probability), log_loss(y[test_rows], probability)
            print(f"  {label:20} {trained:>8,} trained numbers   AUC {auc:.4f}   log-loss {loss:.4f}")


if __name__ == "__main__":
    main()
