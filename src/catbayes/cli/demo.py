"""The command that shows, in a minute and without any data, what the method does."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from catbayes import SamplingBayesianEncoder, compare
from catbayes.cli import bar, check_output
from catbayes.cli.comparing import show
from catbayes.comparison import Comparison
from catbayes.datasets import Dataset, make_transactions
from catbayes.inspect import shrinkage
from catbayes.report import write as write_report

N_ROWS = 12_000
WIDTH = 105


@click.command(epilog="Example:  catbayes demo --report payments.html")
@click.option("--report", default="catbayes-demo.html", show_default=True, metavar="FILE", help="Page to write.")
@click.option("--rows", type=click.IntRange(500), default=N_ROWS, show_default=True, help="Payments to simulate.")
@click.option("--random-state", type=click.IntRange(0), default=0, show_default=True, metavar="SEED")
@click.option("--force", is_flag=True, help="Replace the page if it exists.")
def demo(report: str, rows: int, random_state: int, force: bool) -> None:
    """Show what the method does, on simulated card payments."""
    check_output(report, force)
    payments = make_transactions(rows, random_state=random_state)
    click.echo(_opening(payments))
    table = payments.table.drop(columns="time")
    with bar("reading") as progress:
        result = compare(
            table.assign(fraud=payments.y),
            "fraud",
            encoders={name: name for name in ("target", "sampling", "ordinal")} | {"plain averages": _plain()},
            models=["boosting", "linear"],
            columns=list(payments.categorical),
            repeats=1,
            random_state=random_state,
            progress=progress,
        )
    show(result)
    click.echo(_what_to_notice(result, payments))
    with bar("writing the report"):
        write_report(result, report, overwrite=force)
    click.echo(CLOSING.format(report=report))


def _plain() -> SamplingBayesianEncoder:
    """Encode a category by the average of its rows, each one's own target included, as many people do."""
    return SamplingBayesianEncoder("all", prior=1e-3, own_target="include", temperature=0.0)


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
    posteriors = encoder.posteriors_["merchant"]
    seen = posteriors[posteriors["kind"] == "seen"]
    lines = ["\nWhat to notice:", *_about_leaks(result), *_about_one(seen), *_about_priors(encoder)]
    return "\n".join(lines) + "\n"


def _about_leaks(result: Comparison) -> list[str]:
    """What the plain averages cost, with the first model."""
    model = result.cells[0].model
    losses = {cell.encoder: result.mean(cell, "log_loss") for cell in result.cells if cell.model == model}
    return _bullet(
        f"With {model}, draws have a log-loss of {losses['sampling']:.3f} and plain averages one of "
        f"{losses['plain averages']:.3f} (lower is better): a row's own target is in the average of its category, and "
        "the model learns to read it there. Draws exclude it, and are the wider the rarer the category is."
    )


def _about_one(seen: Any) -> list[str]:
    """The rare merchant that looks worst by its plain rate."""
    rare = seen[seen["count"].between(2, 5)]
    worst = rare.loc[(rare["raw_mean"] + 1e-3 * rare["count"]).idxmax()]
    frauds = round(worst["raw_mean"] * worst["count"])
    return _bullet(
        f"Merchant {worst['category']} had {worst['count']:.0f} payments, {frauds} of them fraud. Its plain rate is "
        f"{worst['raw_mean']:.0%}; its posterior mean is {worst['mean']:.0%}, between {worst['lower']:.0%} and "
        f"{worst['upper']:.0%} with 90 % probability: the other merchants make up {worst['shrinkage']:.0%} of "
        "that number."
    )


def _bullet(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="- ", subsequent_indent="  ")


def _about_priors(encoder: Any) -> list[str]:
    found = shrinkage(encoder)
    lines = [
        f"{name}: {verdict}" if verdict.startswith("no signal") else f"{name}: {strength:,.0f} payments"
        for name, strength, verdict in zip(found["column"], found["prior_strength"], found["verdict"], strict=True)
    ]
    return [
        "- How much the others weigh was learned for each column; nobody had to guess it:",
        *(f"    {line}" for line in lines),
    ]


CLOSING = """- {report} is a page with all of it: open it in a browser, look a merchant up.

Three lines to do it yourself:

    from catbayes import SamplingClassifier
    model = SamplingClassifier().fit(table, y)            # finds the categorical columns by itself
    probability, deviation = model.predict_proba(new_table, return_std=True)

And on a table of yours:  catbayes compare your.csv --target column --report report.html
"""
