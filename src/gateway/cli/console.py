"""Console output: data on standard output, everything else on standard error."""

import gc
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import typer

Result = TypeVar("Result")
Progress = Callable[[int, int | None], None]  # units done, and their total if it is known


def info(text: str) -> None:
    """Write a message to standard error."""
    print(text, file=sys.stderr)


def output(text: str) -> None:
    """Write data to standard output."""
    print(text)


def output_json(value: Any) -> None:
    """Write *value* as JSON to standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=members_of))


def members_of(value: Any) -> Mapping[str, Any]:
    """Return the members of *value*, an object of the management API or already a mapping."""
    members: Mapping[str, Any] = value if isinstance(value, dict) else value.as_json()
    return members


def write_private_json(value: Any, file: Path) -> None:
    """Write *value* as JSON to *file*, which only its owner can read; an older one is replaced."""
    file.touch(mode=0o600)
    file.chmod(0o600)  # it may be older
    file.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def report(value: Any, text: str | Callable[[], None], *, as_json: bool) -> None:
    """Write *value* as JSON, or *text* for people: a sentence, or what writes the result."""
    if as_json:
        output_json(value)
    elif isinstance(text, str):
        info(text)
    else:
        text()


def report_rows(rows: Sequence[Any], columns: Mapping[str, str], *, as_json: bool) -> None:
    """Write *rows* as JSON or as a table; *columns* is member -> heading."""
    report(rows, lambda: output_table(rows, columns), as_json=as_json)


def output_table(rows: Sequence[Any], columns: Mapping[str, str]) -> None:
    """Write one line per row; *columns* is member -> heading."""
    headings = list(columns.values())
    cells = [[_cell(row.get(member)) for member in columns] for row in map(members_of, rows)]
    if sys.stdout.isatty():
        _draw_table(headings, cells)
        return
    lines = [headings, *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show the progress of long work on a terminal; yield the function that reports it."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def run_async(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run *work* and return its result; see `failures_as_sentences`."""
    import asyncio

    gc.enable()  # `main.run` disables it for the imports

    async def run() -> Result:
        return await work()

    with failures_as_sentences():
        return asyncio.run(run())


@contextmanager
def failures_as_sentences() -> Iterator[None]:
    """Turn the failures that a person can act on into sentences and exit code 1."""
    try:
        yield
    except Exception as problem:
        if not tell_failure(problem):
            raise
        raise typer.Exit(1) from None


def tell_failure(problem: Exception) -> bool:
    """Write the sentences of a failure that a person can act on; False for any other failure."""
    sentences = _sentences(problem)
    for sentence in sentences:
        info(sentence)
    return bool(sentences)


def _sentences(problem: Exception) -> Sequence[str]:  # noqa: C901 - one case per failure
    """Describe a failure that a person can act on; nothing for a bug."""
    from socket import gaierror

    from pydantic import ValidationError
    from sqlalchemy.exc import ArgumentError, DBAPIError

    from gateway.errors import CommandError, may_be_missing, missing_module
    from gateway.operations.rows import NoSuchRow, UnknownReference
    from gateway.secrets.keyring import WeakSecret
    from gateway.settings import NotConfigured
    from gateway.store import sqlite
    from gateway.store.database import StorageUnavailable, UnsafeSqlite
    from policy.refusals import Refusal

    match problem:
        case BrokenPipeError():  # the reader of the output is gone: typer ends quietly
            return ()
        case NoSuchRow() | UnknownReference():
            return (problem.sentence,)
        case Refusal():
            details = (item for item in problem.details if item.message not in problem.message)
            return (problem.message, *(f"  {item.field}: {item.message}" for item in details))
        case ValidationError():
            return tuple(settings_errors(problem))
        case NotConfigured() | WeakSecret() | UnsafeSqlite() | CommandError():
            return (str(problem),)
        case StorageUnavailable():
            return (f"The database did not answer: {reason(problem.__cause__)}",)
        case ConnectionError() | TimeoutError() | gaierror():
            return (f"The database did not answer: {reason(problem)}",)
        case ArgumentError():
            forms = "sqlite+aiosqlite:///FILE or postgresql+asyncpg://…"
            return (f"AGW_DATABASE_URL is not a valid database URL: {forms}",)
        case DBAPIError() | sqlite.Error():
            return (f"The database refused: {reason(problem)}",)
        case ModuleNotFoundError() if may_be_missing(problem.name or ""):
            return (missing_module(problem.name or ""),)
        case OSError():
            return (f"{problem.strerror or problem}: {problem.filename or ''}".rstrip(": "),)
        case _:
            return ()


def settings_errors(problem: Any) -> Iterator[str]:
    """Describe each setting that cannot be read; *problem* is pydantic's `ValidationError`."""
    from gateway.operations.validation import sentence_of

    for error in problem.errors(include_url=False, include_input=False):
        name = "_".join(str(part) for part in error["loc"][:1]).upper()
        yield f"AGW_{name} {sentence_of(error)}."


def reason(problem: BaseException | None) -> str:
    """Return the first line of the driver's own message, without statement and values."""
    original = getattr(problem, "orig", None) or problem
    if isinstance(original, TimeoutError):
        return "no response in time"
    first = str(getattr(original, "strerror", None) or original).partition("\n")[0]
    return first.rpartition(">: ")[2] or type(original).__name__


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def _draw_table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*map(Text, line))  # as text, so that brackets are not markup
    Console().print(table)
