"""What a shell offers when Tab is pressed: columns of the tables that were named, and names out of our own lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from catbayes._encoder import load
from catbayes.io.sources import Files

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def by_name(names: Iterable[str]) -> Complete:
    """Offer names out of a list, one after the other where there are commas between them."""
    known = list(names)
    return lambda ctx, param, incomplete: _offered(known, incomplete)


def columns_of_tables(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the columns of the tables that were named before."""
    return _offered(_quietly(lambda: list(Files.of(_given(ctx, "tables")).names)), incomplete)


def columns_of_model(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the columns that the encoder encodes."""
    return _offered(_quietly(lambda: list(load(_given(ctx, "model")[0]).posteriors_)), incomplete)


def _given(ctx: click.Context, name: str) -> list[str]:
    """The words before an option; as long as it has no value itself, click has not yet sorted them."""
    known = ctx.params[name]
    return list(ctx.args) if known is None else [known] if isinstance(known, str) else list(known)


def _quietly(look: Callable[[], list[Any]]) -> list[Any]:
    """What was found; nothing where it cannot be read, since nobody wants a message while typing."""
    try:
        return look()
    except Exception:
        return []


def _offered(names: list[Any], incomplete: str) -> list[CompletionItem]:
    before, comma, begun = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{name}") for name in names if str(name).startswith(begun)]
