"""How commands speak: data on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

Answer = TypeVar("Answer")
Told = Callable[[int, int | None], None]  # how much is done, and of how much if that is known


def say(text: str) -> None:
    """Tell the person at the terminal something."""
    print(text, file=sys.stderr)


def give(text: str) -> None:
    """Write data for a pipe or a person."""
    print(text)


def give_json(value: Any) -> None:
    """Write *value* as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def answer(value: Any, words: Callable[[], None], *, as_json: bool) -> None:
    """Write *value* as JSON for a program, or have *words* tell a person."""
    if as_json:
        give_json(value)
    else:
        words()


def give_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Write *rows* with one line each; *columns* is member -> heading."""
    cells = [[_cell(row.get(member)) for member in columns] for row in rows]
    if sys.stdout.isatty():
        _drawn(list(columns.values()), cells)
        return
    widths = [
        max(len(heading), *(len(line[index]) for line in cells)) if cells else len(heading)
        for index, heading in enumerate(columns.values())
    ]
    for line in (list(columns.values()), *cells):
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


@contextmanager
def progress(doing: str) -> Iterator[Told]:
    """Show on a terminal how far long work is; yield what the work tells it to."""
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
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def carried_out(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """Run *work* to its end and return what it answers; see `failures_as_sentences`."""
    import asyncio

    async def waiting() -> Answer:
        return await work()

    with failures_as_sentences():
        return asyncio.run(waiting())


@contextmanager
def failures_as_sentences() -> Iterator[None]:
    """Turn the failures that a person can act on into one sentence and exit code 1."""
    try:
        yield
    except Exception as problem:
        told = _sentences(problem)
        if not told:
            raise
        for sentence in told:
            say(sentence)
        raise typer.Exit(1) from None


def _sentences(problem: Exception) -> Sequence[str]:
    """Say what a person can do something about; nothing of a fault of ours."""
    from socket import gaierror

    from pydantic import ValidationError
    from sqlalchemy.exc import ArgumentError, DBAPIError

    from gateway.demo.manifest import FolderTaken
    from gateway.errors import CommandError
    from gateway.secrets.keyring import WeakSecret
    from gateway.settings import NotConfigured
    from gateway.store import sqlite
    from gateway.store.database import StorageUnavailable, UnsafeSqlite
    from policy.refusals import Refusal

    match problem:
        case BrokenPipeError():  # nobody reads what is written: typer ends quietly then
            return ()
        case Refusal():
            further = (one for one in problem.details if one.message not in problem.message)
            return (problem.message, *(f"  {one.field}: {one.message}" for one in further))
        case ValidationError():
            return tuple(complaints(problem))
        case NotConfigured() | WeakSecret() | UnsafeSqlite() | CommandError() | FolderTaken():
            return (str(problem),)
        case StorageUnavailable():
            return (f"The database did not answer: {reason(problem.__cause__)}",)
        case ConnectionError() | TimeoutError() | gaierror():
            return (f"The database did not answer: {reason(problem)}",)
        case ArgumentError():
            forms = "sqlite+aiosqlite:///FILE or postgresql+asyncpg://…"
            return (f"AGW_DATABASE_URL is no database URL: {forms}",)
        case DBAPIError() | sqlite.Error():
            return (f"The database refused: {reason(problem)}",)
        case OSError():
            return (f"{problem.strerror or problem}: {problem.filename or ''}".rstrip(": "),)
        case _:
            return ()


def complaints(problem: Any) -> Iterator[str]:
    """Say of each setting that cannot be read what is wrong; *problem* is pydantic's."""
    for complaint in problem.errors(include_url=False, include_input=False):
        name = "_".join(str(part) for part in complaint["loc"][:1]).upper()
        yield f"AGW_{name}: {complaint['msg']}."


def reason(problem: BaseException | None) -> str:
    """Return the driver's own sentence: neither statement nor values, and one line of it."""
    original = getattr(problem, "orig", None) or problem
    if isinstance(original, TimeoutError):
        return "no answer in time"
    first = str(getattr(original, "strerror", None) or original).partition("\n")[0]
    return first.rpartition(">: ")[2] or type(original).__name__


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def _drawn(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*map(Text, line))  # as text: brackets in it are no markup
    Console().print(table)
