"""The command line: demo, compare, fit, encode, update.

Exit codes: 0 done, 1 an error, 2 wrong usage, 130 interrupted. Output is written as a whole or not at all, and an
existing file is only replaced with --force.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from catbayes import __version__

__all__ = ["run"]

INTERRUPTED = 130
COMMANDS = {
    "demo": ("demo", "Show what the method does, on simulated card payments."),
    "compare": ("comparing", "Compare encoders and models on your table."),
    "fit": ("files", "Fit an encoder to Parquet or CSV files."),
    "encode": ("files", "Add encoded columns to Parquet or CSV files, and write one file of either kind."),
    "update": ("files", "Add the rows of files to a fitted encoder, or remove them."),
}
"""The module of each command, and its description; a command is imported when it is called."""


class Commands(click.Group):
    """The commands, listed without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"catbayes.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write names and descriptions."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="catbayes")
def commands() -> None:
    """Encode categorical columns by the posterior of the target."""


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors and warnings are printed without a traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _print_error(str(message))
        try:
            code = commands.main(arguments, prog_name="catbayes", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            return int(error.exit_code)
        except (Exception, KeyboardInterrupt) as error:
            interruptions = click.Abort | KeyboardInterrupt
            if isinstance(error, interruptions) or type(error).__name__ == "InterruptException":  # DuckDB's own
                _print_error("interrupted; nothing was written.")
                return INTERRUPTED
            _print_error(str(error) or type(error).__name__)
            return 1
    return int(code or 0)


def _print_error(message: str) -> None:
    click.echo(f"catbayes: {message}", err=True)


def check_output(output: str, force: bool, inputs: tuple[str, ...] = ()) -> None:
    """Require that a file may be written: it is not an input, and does not exist unless `force` is set."""
    path = Path(output)
    if path.exists() and any(Path(name).exists() and path.samefile(name) for name in inputs):
        raise click.ClickException(f"{output} is read by this command. Name another output.")
    if path.is_dir() or not path.parent.is_dir():
        raise click.ClickException(f"{output}: expected a file in an existing folder.")
    if path.exists() and not force:
        raise click.ClickException(f"{output} exists already. Name another file, or replace it by --force.")


@contextmanager
def bar(description: str) -> Iterator[Callable[..., None]]:
    """Show progress on a terminal; the bar is called with what is done, the total, and optionally what is running."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(description, total=None)

        def update(done: int, total: int | None, now: str = description) -> None:
            progress.update(task, completed=done, total=total, description=now)

        yield update


def split_names(text: str | None) -> Any:
    """Split names with commas between them; None, "auto" and "all" stay as they are."""
    if text is None or text in ("auto", "all"):
        return text
    return [name.strip() for name in text.split(",") if name.strip()]
