"""The `catbayes` command itself: its exit codes, its progress bar, and how an error becomes a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from catbayes import __version__
from catbayes.cli._wording import flags_of, in_flags
from catbayes.comparison._text import printable
from catbayes.errors import InputError

INTERRUPTED = 130
COMMANDS = {
    "demo": ("_demo", "Show what the method does, on simulated card payments."),
    "compare": ("_comparing", "Tell which encoder is best on your table, with which model, and by how much."),
    "fit": ("_files", "Learn the posterior of every category of Parquet or CSV files."),
    "encode": ("_files", "Add encoded columns to Parquet or CSV files, and write one file of either kind."),
    "update": ("_files", "Add the rows of files to a fitted encoder, or take them out again."),
    "posteriors": ("_files", "Show what is believed of each category, and how firmly."),
}
"""The module that holds each command, and what it does; a command is imported when it is called."""


class Commands(click.Group):
    """The commands by name and sentence, without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"catbayes.cli.{COMMANDS[cmd_name][0]}"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write their names and sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="catbayes")
def commands() -> None:
    """Encode categorical columns by the posterior of the target."""


def run(arguments: list[str]) -> int:
    """Run a command; whatever goes wrong becomes one sentence and an exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _say(str(message), arguments)
        try:
            left_with = commands.main(arguments, prog_name="catbayes", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            return int(error.exit_code)
        except (Exception, KeyboardInterrupt) as error:
            if _is_interruption(error):
                click.echo("catbayes: interrupted; nothing was written.", err=True)
                return INTERRUPTED
            _say(_sentence(error), arguments)
            return 1
    return int(left_with or 0)  # the code of a command that left before its end


def _say(message: str, arguments: list[str]) -> None:
    """Tell what is wrong, in the words of the command that was called."""
    name = next((word for word in arguments if word in COMMANDS), None)
    try:
        command = None if name is None else commands.get_command(click.Context(commands), name)
    except ImportError:  # which is what the message is about
        command = None
    flags = {} if command is None else flags_of(command.params)
    click.echo(f"catbayes: {printable(in_flags(message, flags))}", err=True)


def _is_interruption(error: BaseException) -> bool:
    """Tell whether it was Ctrl-C, for which DuckDB has words of its own."""
    words = type(error).__name__ == "InterruptException" or "interrupted" in str(error).lower()
    return isinstance(error, click.Abort | KeyboardInterrupt) or (words and not isinstance(error, InputError))


def _sentence(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f'{error}. The command line needs more: pip install "catbayes[cli]".'
    if isinstance(error, InputError | ImportError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}."
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show progress on the terminal, and nothing where there is none."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def described_bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show progress with what is running, on the terminal, and nothing where there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    looks = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"), TimeElapsedColumn())
    with Progress(*looks, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total, now: progress.update(task, completed=done, total=total, description=now)


def chosen_columns(text: str | None) -> str | list[str]:
    """Columns that were asked for: the words "auto" and "all", or names with commas between them."""
    if text is None or text in ("auto", "all"):
        return text or "auto"
    return split_names(text)


def split_names(text: str) -> list[str]:
    """Names that were given with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]
