"""
Backups of the whole database while it is in use, and their restoration.

SQLite is copied by its online backup from one snapshot: writers go on, and the copy lacks what they
write meanwhile. PostgreSQL is copied by its own `pg_dump` and `psql`. Backups contain
sealed credentials and hashes of tokens; only their owner can read them.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlalchemy.engine import make_url

from gateway.errors import CommandError
from gateway.store import sqlite
from gateway.store.background import ProgressListener
from gateway.store.tables import METADATA

PAGES_PER_STEP = 256  # copied between two calls of the progress listener
_VERSION_TABLE = "alembic_version"
_COPY = re.compile(r"COPY (?:public\.)?(\w+) \(([^()]*)\) FROM stdin;")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES: Mapping[str, str] = MappingProxyType(
    {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
)

Rows = Mapping[str, list[dict[str, Any]]]  # table -> rows


def back_up(url: str, target: Path, progress: ProgressListener) -> None:
    """
    Copy the database at *url* to *target*, which appears complete or not at all.

    *progress* is called with the number of copied pages and of all pages; on SQLite only.

    Raises:
        CommandError: There is no database, or it cannot be read.
    """
    with _replacing(target) as partial:
        if _is_sqlite(url):
            _copy(_file(url), partial, progress)
            _leave_wal(partial)
            if problem := damage(partial):
                raise CommandError(f"The database is damaged: {problem}.")
        else:
            _run(url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "-f", partial)


def version_of(url: str, copy: Path) -> str:
    """
    Return the schema version of *copy*.

    Raises:
        CommandError: It is damaged, or no backup of a database of the kind at *url*.
    """
    if not copy.is_file():
        raise CommandError(f"There is no file {copy}.")
    if not _is_sqlite(url):
        options = ("--data-only", f"--table={_VERSION_TABLE}", "--file=-", copy.absolute())
        script = _run(url, "pg_restore", *options, connect_option=None)
        version_row = re.search(r"^COPY .*\n(\w+)$", script, re.MULTILINE)
        if version_row is None:
            raise CommandError(f"{copy} is not a copy of a store.")
        return version_row[1]
    try:
        with closing(sqlite.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            version = connection.execute(f"SELECT version_num FROM {_VERSION_TABLE}").fetchone()[0]  # noqa: S608 - a constant
    except (sqlite.Error, TypeError):
        raise CommandError(f"{copy} is not a copy of a store.") from None
    if problem := damage(copy):
        raise CommandError(f"{copy} is damaged: {problem}.")
    return str(version)


def rows_of(url: str, copy: Path, tables: Sequence[str]) -> Rows:
    """
    Read *tables* from *copy*, which `version_of` has accepted.

    Values are as SQLite stores them, or the texts of PostgreSQL; columns are those of the copy's
    schema version.
    """
    if _is_sqlite(url):
        with closing(sqlite.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return {table: list(_rows(connection, table)) for table in tables}
    options = ["--data-only", *(f"--table={table}" for table in tables), "--file=-"]
    script = _run(url, "pg_restore", *options, copy.absolute(), connect_option=None)
    return {**{table: [] for table in tables}, **dict(_copied_tables(script))}


def _rows(connection: sqlite.Connection, table: str) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - a name of our tables
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(columns, row, strict=True))


def _copied_tables(script: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each `COPY … FROM stdin` block of a script of pg_restore: the table and its rows."""
    lines = iter(script.split("\n"))
    for line in lines:
        header = _COPY.fullmatch(line)
        if header is None:
            continue
        columns = [column.strip('" ') for column in header[2].split(",")]
        rows = []
        for row in lines:
            if row == "\\.":
                break
            rows.append(dict(zip(columns, map(_copied_value, row.split("\t")), strict=True)))
        yield header[1], rows


def _copied_value(text: str) -> str | None:
    r"""Decode a value of PostgreSQL's text format: `\N` is null, a backslash starts an escape."""
    if text == "\\N":
        return None
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text)


def restore(url: str, copy: Path, progress: ProgressListener) -> None:
    """
    Replace the whole content of the database at *url* by *copy*, in one transaction.

    Raises:
        CommandError: The database cannot be written.
    """
    if _is_sqlite(url):
        target = _file(url)
        os.close(os.open(target, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            _copy(copy, target, progress)
        except CommandError as problem:
            remedy = f"If {target} is damaged, move it and the files beside it away first."
            raise CommandError(f"{problem} {remedy}") from None
        return
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "copy.sql"
        os.close(os.open(script, os.O_WRONLY | os.O_CREAT, 0o600))
        options = ("--no-owner", "--no-privileges", f"--file={script}", copy.absolute())
        _run(url, "pg_restore", *options, connect_option=None)
        tables = ", ".join([*METADATA.tables, _VERSION_TABLE])
        one_transaction = ("--single-transaction", "--set=ON_ERROR_STOP=1")
        drop = f"--command=DROP TABLE IF EXISTS {tables} CASCADE"
        _run(url, "psql", "--no-psqlrc", "--quiet", *one_transaction, drop, f"--file={script}")


def damage(file: Path) -> str | None:
    """Return the first fault of an SQLite *file*; None when it has none."""
    try:
        with closing(sqlite.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            result = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite.Error as failure:
        return str(failure)
    return None if result == "ok" else result


def _copy(source: Path, target: Path, progress: ProgressListener) -> None:
    existing = f"{source.absolute().as_uri()}?mode=rw"
    try:
        with (
            closing(sqlite.connect(existing, uri=True, isolation_level=None)) as reader,
            closing(sqlite.connect(target, isolation_level=None, timeout=30)) as writer,
        ):
            # The open transaction pins one snapshot: otherwise each write restarts the backup.
            reader.execute("BEGIN")
            reader.execute("SELECT 1 FROM sqlite_master").fetchone()
            reader.backup(
                writer,
                pages=PAGES_PER_STEP,
                progress=lambda _, remaining, total: progress(total - remaining, total),
            )
            reader.execute("ROLLBACK")
    except sqlite.Error as failure:
        raise CommandError(f"The database cannot be copied: {failure}.") from None


def _leave_wal(file: Path) -> None:
    """Make *file* complete without side files."""
    with closing(sqlite.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


@contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary file, readable by its owner only, that replaces *target* at the end."""
    if not target.absolute().parent.is_dir():
        raise CommandError(f"There is no folder {target.parent} to write {target.name} to.")
    descriptor, name = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.")
    partial = Path(name)
    try:
        yield partial
        os.fsync(descriptor)
        partial.replace(target)
    finally:
        os.close(descriptor)
        partial.unlink(missing_ok=True)


def _is_sqlite(url: str) -> bool:
    return make_url(url).get_backend_name() == "sqlite"


def _file(url: str) -> Path:
    return Path(make_url(url).database or "")


def _run(
    url: str, program: str, *arguments: object, connect_option: str | None = "--dbname"
) -> str:
    """Run a client program of PostgreSQL on the database at *url*; return its output."""
    executable = shutil.which(program)
    if executable is None:
        raise CommandError(
            f"{program} is not on the path: install the client programs of PostgreSQL (Debian: "
            "postgresql-client), or use it where they are."
        )
    database = [f"{connect_option}={_libpq_url(url)}"] if connect_option else []
    command = [executable, *database, *map(str, arguments)]
    result = subprocess.run(  # noqa: S603 - a program of PostgreSQL, without a shell
        command, env=_environment(url), capture_output=True, text=True, check=False
    )
    if result.returncode:
        lines = (result.stderr.strip() or f"{program} failed").splitlines()
        raise CommandError(next((line for line in lines if "error" in line.lower()), lines[-1]))
    return result.stdout


def _libpq_url(url: str) -> str:
    """Convert *url* to the form that PostgreSQL's programs read, without its password."""
    parsed = make_url(url)
    query = {("sslmode" if name == "ssl" else name): value for name, value in parsed.query.items()}
    bare = parsed.set(drivername="postgresql", query=query)._replace(password=None)
    return bare.render_as_string(hide_password=False)


def _environment(url: str) -> Mapping[str, str]:
    """Return the environment of the programs: the password and timeouts."""
    timeouts = {"PGCONNECT_TIMEOUT": "10", "PGOPTIONS": "-c lock_timeout=30s"}
    password = make_url(url).password
    return {**timeouts, **os.environ, **({"PGPASSWORD": password} if password else {})}
