"""Databases that run while a test does: servers of PostgreSQL and MariaDB in a folder, on a socket of their own."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

OWNER = "nobody" if os.geteuid() == 0 else None
"""Neither server runs as root."""

POSTGRES = next((str(p.parent) for p in sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))), None)


@contextmanager
def running(command, ready, folder):
    """A server until the end, once a question to it is answered."""
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, user=OWNER)
    try:
        deadline = time.monotonic() + 60
        while subprocess.run(ready, capture_output=True, check=False).returncode:
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(60)


@contextmanager
def owned():
    """A folder that the owner of the servers may write to; pytest keeps its own for root alone, at every start anew."""
    with tempfile.TemporaryDirectory(prefix="catbayes-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


@contextmanager
def postgres():
    """Run a statement by psql."""
    if POSTGRES is None or not shutil.which("psql"):
        pytest.skip("PostgreSQL is not installed")
    with owned() as folder, _postgres(folder) as run:
        yield run


@contextmanager
def _postgres(folder):
    data = str(folder / "data")
    subprocess.run([f"{POSTGRES}/initdb", "-D", data, "-U", "me", "-E", "UTF8", "--locale=C"], user=OWNER, check=True)
    asked = ["psql", "-h", str(folder), "-U", "me", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--csv", "-t", "postgres"]
    command = [f"{POSTGRES}/postgres", "-D", data, "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
    with running(command, [*asked, "-c", "SELECT 1"], folder):
        yield lambda sql: list(csv.reader(io.StringIO(_said(asked, sql))))


@contextmanager
def mariadb():
    """Run a statement by MariaDB's client; tabs and ends of lines in texts come back escaped."""
    if not shutil.which("mariadbd") or not shutil.which("mariadb"):
        pytest.skip("MariaDB is not installed")
    with owned() as folder, _mariadb(folder) as run:
        yield run


@contextmanager
def _mariadb(folder):
    socket, data = f"{folder}/socket", f"--datadir={folder}/data"
    made = ["mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal"]
    ran = subprocess.run(made, user=OWNER, check=False, capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    command = ["mariadbd", "--no-defaults", data, f"--socket={socket}", "--skip-networking", f"--pid-file={folder}/pid"]
    asked = ["mariadb", "--no-defaults", f"--socket={socket}", "-u", "root", "--batch", "-N"]
    asked += ["--default-character-set=utf8mb4"]
    with running(command, [*asked, "-e", "SELECT 1"], folder):
        _said(asked, "CREATE DATABASE mine CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        yield lambda sql: [line.split("\t") for line in _said([*asked, "mine"], sql).splitlines()]


@contextmanager
def in_duckdb():
    """DuckDB in memory."""
    with duckdb.connect() as connection:
        yield lambda sql: connection.execute(sql).fetchall()


@contextmanager
def in_sqlite():
    """SQLite in memory."""
    connection = sqlite3.connect(":memory:")
    yield lambda sql: connection.execute(sql).fetchall()
    connection.close()


DATABASES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgres": postgres, "mysql": mariadb}
"""By sqlglot's name of their dialect."""


def quoted(name, dialect):
    mark = "`" if dialect == "mysql" else '"'
    return mark + name.replace(mark, 2 * mark) + mark


def literal(text, dialect):
    """A text by its bytes, so that nothing depends on how a database reads quotes and backslashes."""
    if text is None:
        return "NULL"
    code = text.encode().hex()
    return {
        "postgres": f"convert_from(decode('{code}', 'hex'), 'UTF8')",
        "mysql": f"CONVERT(X'{code}' USING utf8mb4)",
        "sqlite": f"CAST(X'{code}' AS TEXT)",
        "duckdb": f"decode(unhex('{code}'))",
    }[dialect]


def _said(command, sql):
    ran = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + "\n" + sql[:3000]
    return ran.stdout
