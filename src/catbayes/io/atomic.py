"""Files that are there in full or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from catbayes.errors import InputError


def check_output(path: str | os.PathLike[str], overwrite: bool, inputs: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Require a name that can be written to, and is none of the inputs, before any work is done; a link is followed."""
    target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder: expected the name of a file to write.")
    if Path(path).exists() and not Path(path).is_file():  # a link to an open pipe leads to no name
        raise InputError(f"{path} is a device, a pipe or a socket: expected the name of a file to write.")
    if str(path) == "-":
        raise InputError("- stands for no stream here: expected the name of a file to write.")
    if target.exists() and any(os.path.exists(given) and target.samefile(given) for given in inputs):
        raise InputError(f"{target} is to be read, and would be replaced by what is written: choose another name.")
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already: choose another name, or allow it to be replaced (overwrite=True).")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent} is not a folder: make it first, or choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target.parent} is a folder that cannot be written to: choose another one.")
    return target


@contextmanager
def replacing(path: str | os.PathLike[str], overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary name beside `path`; it takes the place of `path` on success, and is removed on failure.

    A crash, a full disk or Ctrl-C leaves the old file as it was.
    """
    target = check_output(path, overwrite)
    mode = target.stat().st_mode if target.exists() else None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:  # the name is known before there is a file: no signal leaves one behind
        temporary.touch(0o666 if mode is None else mode, exist_ok=False)
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if target.exists() and not overwrite:
            raise InputError(f"{target} was written by somebody else in the meantime, and is left as it is.")
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
