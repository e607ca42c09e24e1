"""How commands speak: data on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import typer


def say(text: str) -> None:
    """Tell the person at the terminal something."""
    print(text, file=sys.stderr)


def give(text: str) -> None:
    """Write data for a pipe or a person."""
    print(text)


def give_json(value: Any) -> None:
    """Write *value* as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def give_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Write *rows* with one line each; *columns* is member -> heading."""
    cells = [[_cell(row.get(member)) for member in columns] for row in rows]
    widths = [
        max(len(heading), *(len(line[index]) for line in cells)) if cells else len(heading)
        for index, heading in enumerate(columns.values())
    ]
    for line in (list(columns.values()), *cells):
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())


@contextmanager
def failures_as_sentences() -> Iterator[None]:
    """Turn the failures that a person can act on into one sentence and exit code 1."""
    from pydantic import ValidationError

    from gateway.database import StorageUnavailable, UnsafeSqlite
    from gateway.keyring import WeakSecret
    from gateway.settings import NotConfigured
    from policy.refusals import Refusal

    try:
        yield
    except Refusal as refusal:
        say(refusal.message)
        for detail in refusal.details:
            say(f"  {detail.field}: {detail.message}")
        raise typer.Exit(1) from None
    except ValidationError as problem:
        for complaint in problem.errors(include_url=False, include_input=False):
            name = "_".join(str(part) for part in complaint["loc"][:1]).upper()
            say(f"AGW_{name}: {complaint['msg']}.")
        raise typer.Exit(1) from None
    except (NotConfigured, WeakSecret, UnsafeSqlite) as problem:
        say(str(problem))
        raise typer.Exit(1) from None
    except StorageUnavailable as problem:
        say(f"The database did not answer: {problem.__cause__}")
        raise typer.Exit(1) from None
    except OSError as problem:
        say(f"{problem.strerror or problem}: {problem.filename or ''}".rstrip(": "))
        raise typer.Exit(1) from None


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
