"""Messages of the library in the words of the command line: flags where Python has parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

ALIASES = {
    "cv": "--folds",
    "drop": "--id",
    "random_state": "--seed",
    "n_draws": "--draws",
    "row_id": "--row-id",
    "overwrite": "--force",
}
"""Parameters of the library whose flags have other names."""

VALUE = r"""\[[^\]]*\]|"[^"]*"|'[^']*'|[^\s,;:)]+"""


def flags_of(parameters: Iterable[click.Parameter]) -> dict[str, str]:
    """The flags of a command by the names that the library has for them."""
    flags = {p.name: max(p.opts, key=len) for p in parameters if isinstance(p, click.Option) and p.name is not None}
    named = set(flags.values())
    return flags | {name: flag for name, flag in ALIASES.items() if flag in named}


def in_flags(text: str, flags: dict[str, str]) -> str:
    """A message with flags in the place of parameters: `family="normal"` becomes `--family normal`."""
    text = re.sub(r"(^|\. |: )?\bX (?=has |holds |is )", lambda found: _table(found[1]), text)
    if not flags:
        return text
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    text = re.sub(rf"\b({names})=({VALUE})", lambda found: f"{flags[found[1]]} {_plain(found[2])}".rstrip(), text)
    pair = re.match(rf"({names}) and ({names})(?= )", text)
    if pair:
        return f"{flags[pair[1]]} and {flags[pair[2]]}{text[pair.end() :]}"
    return re.sub(rf"^({names})(?=:| names | holds | has )", lambda found: flags[found[1]], text)


def _table(before: str | None) -> str:
    """What Python calls X, at the beginning of a sentence or inside of it."""
    return "the table " if before is None else f"{before}{'the' if before == ': ' else 'The'} table "


def _plain(value: str) -> str:
    """A value as it is typed: without quotes, and commas without blanks."""
    if value == "True":
        return ""
    end = "." if value.endswith(".") and value[0] not in "\"'[" else ""
    inside = value[1:-1] if value[0] == "[" else value.removesuffix(".")
    return ",".join(part.strip().strip("\"'") for part in inside.split(",")) + end
