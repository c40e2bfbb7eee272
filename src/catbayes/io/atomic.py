"""Files that are there in full or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from catbayes.errors import InputError


def check_output(path: str | os.PathLike[str], overwrite: bool, inputs: Sequence[str | os.PathLike[str]] = ()) -> Path:
    """Require a name that can be written to, and is none of the inputs, before any work is done; a link is followed."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InputError(f"{target} is a folder or a device: expected the name of a file to write.")
    if target.exists() and any(os.path.exists(given) and target.samefile(given) for given in inputs):
        raise InputError(f"{target} is to be read, and would be replaced by what is written: choose another name.")
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists already: choose another name, or allow it to be replaced (overwrite=True).")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise InputError(f"{target.parent} is not a folder that can be written to: make it, or choose another one.")
    return target


@contextmanager
def replacing(path: str | os.PathLike[str], overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary name in the same folder; it replaces `path` on success, and is removed on failure.

    A crash, a full disk or Ctrl-C leaves the old file as it was.
    """
    target = check_output(path, overwrite)
    mode = target.stat().st_mode if target.exists() else None
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:  # the name is known before there is a file: so a signal finds it to remove
        temporary.touch(0o666 if mode is None else mode, exist_ok=False)
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_content(path: Any, content: bytes) -> None:
    """Write to a path, or to an open binary file."""
    if not isinstance(path, str | os.PathLike):
        path.write(content)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def read_content(path: Any) -> tuple[str, bytes]:
    """Read a path, or an open binary file; returns its name for messages, too."""
    if not isinstance(path, str | os.PathLike):
        path.seek(0)
        return "The file", path.read()
    if not os.path.isfile(path):  # a device or a pipe may never end
        found = "is no regular file" if os.path.exists(path) else "does not exist"
        raise InputError(f"There is no file {os.fspath(path)!r}: it {found}.")
    return os.fspath(path), Path(path).read_bytes()
