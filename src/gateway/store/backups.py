"""
Copies of the whole store while it is served, and the way back from one.

SQLite is copied by its online backup, out of one snapshot: writers go on, and what they write
meanwhile is not in it. PostgreSQL is left to its own `pg_dump` and `psql`. Copies hold sealed
credentials and hashes of tokens; they are readable by their owner alone.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from gateway.cli.console import Told
from gateway.errors import CommandError
from gateway.store import sqlite
from gateway.store.tables import METADATA

PAGES = 256  # copied at a time, between two words about how far it is
VERSIONS = "alembic_version"


def back_up(url: str, target: Path, told: Told) -> None:
    """
    Copy the store at *url* to *target*, which appears whole or not at all.

    *told* hears how many pages are copied, and of how many.

    Raises:
        CommandError: There is no store, or it cannot be read.
    """
    with _appearing(target) as partial:
        if _is_sqlite(url):
            _copy(_file(url), partial, told)
            _settle(partial)
            if found := damage(partial):
                raise CommandError(f"The database is damaged: {found}.")
        else:
            _run(url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "-f", partial)


def version_of(url: str, copy: Path) -> str:
    """
    Return the version of the schema in *copy*.

    Raises:
        CommandError: It is no copy of a store of the kind at *url*, or damaged.
    """
    if not copy.is_file():
        raise CommandError(f"There is no file {copy}.")
    if not _is_sqlite(url):
        words = ("--data-only", f"--table={VERSIONS}", "--file=-", copy.absolute())
        found = re.search(
            r"^COPY .*\n(\w+)$", _run(url, "pg_restore", *words, at=None), re.MULTILINE
        )
        if found is None:
            raise CommandError(f"{copy} is no copy of a store.")
        return found[1]
    try:
        with closing(sqlite.connect(f"{copy.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            version = opened.execute(f"SELECT version_num FROM {VERSIONS}").fetchone()[0]  # noqa: S608 - a constant
    except (sqlite.Error, TypeError):
        raise CommandError(f"{copy} is no copy of a store.") from None
    if found_damage := damage(copy):
        raise CommandError(f"{copy} is damaged: {found_damage}.")
    return str(version)


def restore(url: str, copy: Path, told: Told) -> None:
    """
    Put *copy* in place of all that is in the store at *url*, in one transaction.

    Raises:
        CommandError: The store cannot be written.
    """
    if _is_sqlite(url):
        target = _file(url)
        os.close(os.open(target, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            _copy(copy, target, told)
        except CommandError as problem:
            remedy = f"If {target} is damaged, move it and the files beside it away first."
            raise CommandError(f"{problem} {remedy}") from None
        return
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "copy.sql"
        os.close(os.open(script, os.O_WRONLY | os.O_CREAT, 0o600))
        words = ("--no-owner", "--no-privileges", f"--file={script}", copy.absolute())
        _run(url, "pg_restore", *words, at=None)
        tables = ", ".join([*METADATA.tables, VERSIONS])
        once = ("--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1")
        gone = f"DROP TABLE IF EXISTS {tables} CASCADE"
        _run(url, "psql", *once, f"--command={gone}", f"--file={script}")


def damage(file: Path) -> str | None:
    """Return the first thing that is wrong in a SQLite *file*; None when all is well."""
    try:
        with closing(sqlite.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            found = str(opened.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite.Error as failure:
        return str(failure)
    return None if found == "ok" else found


def _copy(source: Path, target: Path, told: Told) -> None:
    try:
        with (
            closing(_existing(source)) as here,
            closing(sqlite.connect(target, isolation_level=None, timeout=30)) as there,
        ):
            # Held open, one snapshot is copied: otherwise each write starts the copy again.
            here.execute("BEGIN")
            here.execute("SELECT 1 FROM sqlite_master").fetchone()
            here.backup(
                there, pages=PAGES, progress=lambda _, left, total: told(total - left, total)
            )
            here.execute("ROLLBACK")
    except sqlite.Error as failure:
        raise CommandError(f"The database cannot be copied: {failure}.") from None


def _settle(file: Path) -> None:
    """Make *file* one that needs no files beside it."""
    with closing(sqlite.connect(file)) as opened:
        opened.execute("PRAGMA journal_mode=DELETE")


def _existing(file: Path) -> sqlite.Connection:
    return sqlite.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Yield a file to write, for its owner alone, that takes *target*'s place in the end."""
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


def _run(url: str, program: str, *words: object, at: str | None = "--dbname") -> str:
    """Run one of PostgreSQL's programs on the database at *url*; return what it printed."""
    found = shutil.which(program)
    if found is None:
        raise CommandError(
            f"{program} is not on the path: install the client programs of PostgreSQL (Debian: "
            "postgresql-client), or use it where they are."
        )
    named = [f"{at}={_plain(url)}"] if at else []
    command = [found, *named, *map(str, words)]
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL's, and no shell
        command, env=_environment(url), capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr.strip() or f"{program} failed").splitlines()
        raise CommandError(next((line for line in said if "error" in line.lower()), said[-1]))
    return done.stdout


def _plain(url: str) -> str:
    """Write *url* as PostgreSQL's own programs read it, without its password."""
    parsed = make_url(url)
    query = {("sslmode" if name == "ssl" else name): value for name, value in parsed.query.items()}
    bare = parsed.set(drivername="postgresql", query=query)._replace(password=None)
    return bare.render_as_string(hide_password=False)


def _environment(url: str) -> Mapping[str, str]:
    """Return what the programs are told besides: the password, and not to wait for ever."""
    patient = {"PGCONNECT_TIMEOUT": "10", "PGOPTIONS": "-c lock_timeout=30s"}
    password = make_url(url).password
    return {**patient, **os.environ, **({"PGPASSWORD": password} if password else {})}
