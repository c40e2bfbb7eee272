"""The command that shows, in a minute and without any data, what the method does."""

from __future__ import annotations

import textwrap
from typing import Any

import click
import numpy as np

from catbayes._encoder import SamplingBayesianEncoder
from catbayes.cli._command import bar
from catbayes.cli._comparing import run_compare, show
from catbayes.comparison import Comparison
from catbayes.core.statistics import Tally
from catbayes.datasets import Dataset, make_transactions
from catbayes.families import family_of_classes
from catbayes.inspect import shrinkage
from catbayes.io.atomic import check_output
from catbayes.report import write as write_report

N_ROWS = 12_000
WIDTH = 105


@click.command(epilog="Example:  catbayes demo --report payments.html")
@click.option(
    "--report",
    default="catbayes-demo.html",
    show_default=True,
    type=click.Path(),
    metavar="FILE",
    help="Page to write.",
)
@click.option("--rows", type=click.IntRange(500), default=N_ROWS, show_default=True, help="Payments to simulate.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
def demo(report: str, rows: int, seed: int, force: bool) -> None:
    """Show what the method does, on simulated card payments."""
    check_output(report, force)
    payments = make_transactions(rows, random_state=seed)
    click.echo(_opening(payments))
    table = payments.table.drop(columns="time")
    result = run_compare(
        table.assign(fraud=payments.y),
        "fraud",
        encoders={"target": "target", "sampling": "sampling", "ordinal": "ordinal", "plain averages": _plain(payments)},
        models=["boosting", "linear"],
        columns=list(payments.categorical),
        repeats=1,
        random_state=seed,
    )
    show(result)
    click.echo(_what_to_notice(result, payments))
    with bar("writing the report"):
        write_report(result, report, overwrite=force)
    click.echo(CLOSING.format(report=report))


def _plain(payments: Dataset) -> SamplingBayesianEncoder:
    """What many people do: a category is the average of its rows, each one's own target among them."""
    everyone = Tally(np.bincount(payments.y, minlength=2)[None].astype(np.float64))
    weak = family_of_classes(2).scaled(everyone, gamma=1.0).worth(1e-3)
    return SamplingBayesianEncoder("all", prior=weak, own_target="include", temperature=0.0)


def _opening(payments: Dataset) -> str:
    counts = payments.table["merchant"].value_counts()
    size, share = len(payments.y), payments.y.mean()
    return f"""\
{size:,} simulated card payments, {share:.1%} of them fraud. The truth is known, because we made it:
some merchants and cities are bad, most are not, and the device says nothing at all. Of {len(counts):,}
merchants, half have {counts.median():.0f} payments or fewer, so that their plain fraud rates are mostly luck.

Each encoder turns the columns into numbers; a model learns from four fifths of the payments and predicts
the others, five times over.
"""


def _what_to_notice(result: Comparison, payments: Dataset) -> str:
    encoder = SamplingBayesianEncoder(list(payments.categorical), random_state=0)
    encoder.fit(payments.table, payments.y)
    beliefs = encoder.posteriors_["merchant"]
    seen = beliefs[beliefs["kind"] == "seen"]
    lines = ["\nWhat to notice:", *_about_leaks(result), *_about_one(seen), *_about_priors(encoder)]
    return "\n".join(lines) + "\n"


def _about_leaks(result: Comparison) -> list[str]:
    """What the plain averages cost, with the first model."""
    model = result.cells[0].model
    losses = {cell.encoder: result.mean(cell, "log_loss") for cell in result.cells if cell.model == model}
    return _bullet(
        f"With {model}, draws have a log-loss of {losses['sampling']:.3f} and plain averages one of "
        f"{losses['plain averages']:.3f} (lower is better): a row's own target is in the average of its category, and "
        "the model learns to read it there. Draws leave it out, and are as wide as the category is rare."
    )


def _about_one(seen: Any) -> list[str]:
    """The rare merchant that looks worst by its plain rate."""
    rare = seen[seen["count"].between(2, 5)]
    worst = rare.loc[(rare["raw_mean"] + 1e-3 * rare["count"]).idxmax()]
    frauds = round(worst["raw_mean"] * worst["count"])
    return _bullet(
        f"Merchant {worst['category']} had {worst['count']:.0f} payments, {frauds} of them fraud. Its plain rate is "
        f"{worst['raw_mean']:.0%}; what is believed of it is {worst['mean']:.0%}, between {worst['lower']:.0%} and "
        f"{worst['upper']:.0%} with 90 % probability: the other merchants make up {worst['shrinkage']:.0%} of "
        "that number."
    )


def _bullet(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _about_priors(encoder: Any) -> list[str]:
    found = shrinkage(encoder)
    told = [
        f"{name}: {verdict}" if verdict.startswith("no signal") else f"{name}: {strength:,.0f} payments"
        for name, strength, verdict in zip(found["column"], found["prior_strength"], found["verdict"], strict=True)
    ]
    return [
        "- How much the others weigh was learned for each column; nobody had to guess it:",
        *(f"    {t}" for t in told),
    ]


CLOSING = """- {report} is a page with all of it: open it in a browser, look a merchant up.

Three lines to do it yourself:

    from catbayes import SamplingClassifier
    model = SamplingClassifier().fit(table, y)            # finds the categorical columns by itself
    probability, doubt = model.predict_proba(new_table, return_std=True)

And on a table of yours:  catbayes compare your.csv --target column --report report.html
"""
