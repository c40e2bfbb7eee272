"""
What about neural networks?
===========================

An embedding layer learns a vector for each category. Where categories are rare, those vectors overfit. A
`PosteriorEmbedding` has nothing to learn: it draws the rate of each category afresh at every step, the row's own target
left out, and gives the expectation in evaluation.
"""

# %%
# Payments with thousands of merchants and devices, most of them rare.
import matplotlib.pyplot as plt
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn

from catbayes import SamplingBayesianEncoder
from catbayes.datasets import make_transactions
from catbayes.torch import PosteriorEmbedding

torch.manual_seed(0)
torch.set_num_threads(1)
payments = make_transactions(12_000)
X, y = payments.table[["merchant", "city", "device"]], payments.y
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# The posterior on a scale that networks like: the log-odds of the rate against the average.
encoder = SamplingBayesianEncoder(mapping="weight_of_evidence", random_state=0).fit(X_train, y_train)
posterior = PosteriorEmbedding(encoder)
codes, codes_new = posterior.codes(X_train), posterior.codes(X_test)
target = torch.tensor(y_train, dtype=torch.float32)


class Learned(nn.Module):
    """A vector of eight learned numbers for each category of each column."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [column.index.n_slots for column in encoder.evidence_.columns]
        self.tables = nn.ModuleList(nn.Embedding(size, 8) for size in sizes)
        self.n_outputs = 8 * len(sizes)

    def forward(self, codes: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Look the vectors up; there is no target to leave out."""
        return torch.cat([table(codes[:, number]) for number, table in enumerate(self.tables)], dim=-1)


class Network(nn.Module):
    """Embedded categories through one hidden layer."""

    def __init__(self, embedding: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = nn.Sequential(nn.Linear(embedding.n_outputs, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, codes: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        """Logit of the target."""
        return self.layers(self.embedding(codes, target))[:, 0]


# %%
# The same loop for both. In training, `PosteriorEmbedding` is told the targets, to leave them out.
curves = {}
for name, embedding in (("learned vectors", Learned()), ("posteriors", posterior)):
    network = Network(embedding)
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    scores = []
    for _ in range(8):
        network.train()
        for rows in torch.randperm(len(target)).split(256):
            optimiser.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(network(codes[rows], target[rows]), target[rows])
            loss.backward()
            optimiser.step()
        network.eval()
        with torch.no_grad():
            pairs = ((y_train, network(codes)), (y_test, network(codes_new)))
            scores.append([roc_auc_score(labels, logit.numpy()) for labels, logit in pairs])
    curves[name] = scores
    trained = sum(parameter.numel() for parameter in network.parameters())
    print(f"{name:16} {trained:>7,} trained numbers, AUC on new rows {scores[-1][1]:.3f}")

# %%
# Learned vectors go on to remember the training rows, and gain nothing on new ones. (For the posteriors there is no
# such curve: in evaluation a row's own target is part of its posterior, so a score on training rows would say nothing.)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for color, (name, scores) in zip(("C1", "C0"), curves.items(), strict=True):
    epochs = range(1, len(scores) + 1)
    ax.plot(epochs, [score[1] for score in scores], color=color, label=f"{name}, new rows")
    if name == "learned vectors":
        ax.plot(epochs, [score[0] for score in scores], color=color, linestyle=":", label=f"{name}, training rows")
ax.set(xlabel="epoch", ylabel="AUC")
ax.legend(frameon=False, loc="upper left")

plt.show()
