"""The `catbayes` command itself: its exit codes, its progress bar, and how an error becomes a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from catbayes.errors import InputError

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("catbayes"), prog_name="catbayes")
def commands() -> None:
    """Encode categorical columns by the posterior of the target."""


def run(arguments: list[str]) -> int:
    """Run a command; whatever goes wrong becomes one sentence and an exit code.

    Examples
    --------
    >>> from catbayes.cli import run
    >>> run(["nonsense"])  # and a sentence on stderr
    2
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: click.echo(f"catbayes: {message}", err=True)
        try:
            left_with = commands.main(arguments, prog_name="catbayes", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            return int(error.exit_code)
        except (Exception, KeyboardInterrupt) as error:
            if _is_interruption(error):
                click.echo("catbayes: interrupted; nothing was written.", err=True)
                return INTERRUPTED
            click.echo(f"catbayes: {_sentence(error)}", err=True)
            return 1
    return int(left_with or 0)  # the code of a command that left before its end


def _is_interruption(error: BaseException) -> bool:
    """Tell whether it was Ctrl-C, for which DuckDB has words of its own."""
    words = type(error).__name__ == "InterruptException" or "interrupted" in str(error).lower()
    return isinstance(error, click.Abort | KeyboardInterrupt) or (words and not isinstance(error, InputError))


def _sentence(error: BaseException) -> str:
    if isinstance(error, InputError | ImportError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}."
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show progress on the terminal, and nothing where there is none."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def described_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show progress with what is running, on the terminal, and nothing where there is none."""
    console = Console(stderr=True)
    looks = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn())
    with Progress(*looks, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total, now: progress.update(task, completed=done, total=total, description=now)


def cell(value: Any) -> Text:
    """A value for a table on the terminal."""
    if value is None:
        return Text("-")
    if isinstance(value, float):
        return Text(f"{value:.15g}" if value == int(value) else f"{value:.4g}")
    return Text(str(value))


def split_names(text: str) -> list[str]:
    """Names that were given with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]
