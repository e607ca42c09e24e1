"""What the `decisions` commands do on the store."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from gateway.audit import reading
from gateway.audit.chain import Link, faults
from gateway.audit.decision import Decision
from gateway.audit.reading import DecisionFilter, Numbered
from gateway.cli.stores import opened
from gateway.management.decisions import DecisionFilters
from gateway.management.paging import refused
from gateway.management.validation_messages import details_of
from gateway.store.database import Database, StorageUnavailable

PAUSE = 1.0  # seconds between two looks
# Rows come in batches and from several processes: one may be stored this much after a later one.
OVERLAP = 15_000  # milliseconds
_PAGE = 500  # rows of one look


async def listed(given: Mapping[str, Any], limit: int) -> list[Mapping[str, Any]]:
    """Return decisions, newest first; *given* are the filters of the API."""
    wanted = _wanted(given)
    async with opened() as (database, _, _settings):
        found = await reading.newest(database, wanted, limit=limit)
    return [decision.view(number) for number, decision in found]


async def followed(
    given: Mapping[str, Any], lines: int, *, complain: Callable[[str], None]
) -> AsyncGenerator[Mapping[str, Any], None]:
    """
    Yield the last *lines* decisions and then each new one, for ever.

    When the database does not answer, *complain* is told once and it is asked again.
    """
    wanted = _wanted(given)
    async with opened() as (database, _, _settings):
        found = await reading.newest(database, wanted, limit=max(lines, 1))
        for number, decision in found[:lines][::-1]:
            yield decision.view(number)
        last = max((_place(one) for one in found), default=(0, 0))
        begun, seen, fine = last, set[int](), True
        while True:
            try:
                recent = await _since(database, wanted, last[0] - OVERLAP)
            except StorageUnavailable:
                if fine:
                    complain("The database does not answer; trying again.")
                fine = False
            else:
                fine = True
                for number, decision in recent:
                    if number not in seen and (seen or (decision.at, number) > begun):
                        yield decision.view(number)
                seen = {number for number, _ in recent}
                last = max((_place(one) for one in recent), default=last)
            await asyncio.sleep(PAUSE)


async def verified() -> dict[str, Any]:
    """Check every chain; return how many rows there are and what is wrong."""
    rows = 0

    async def counted(linked: AsyncIterator[tuple[Link, Decision]]) -> Any:
        nonlocal rows
        async for one in linked:
            rows += 1
            yield one

    async with opened() as (database, keyring, _settings):
        found = [
            {"chain": one.chain, "number": one.number, "fault": one.fault.value}
            async for one in faults(keyring, counted(reading.in_chain_order(database)))
        ]
    return {"rows": rows, "faults": found}


def as_line(decision: Mapping[str, Any]) -> str:
    """Write a decision as one line of JSON."""
    return json.dumps(decision, ensure_ascii=False)


def as_words(decision: Mapping[str, Any]) -> str:
    """Write a decision as one line for people."""
    words = [
        decision["at"],
        f"token {decision['tokenId']}",
        decision["door"],
        decision["operation"] or "-",
        decision["outcome"],
        str(decision["status"]),
    ]
    if decision["layer"] is not None:
        words.append(f"by {decision['layer']}: {decision['code']}")
    if decision["ruleId"] is not None:
        words.append(f"rule {decision['ruleId']}")
    return "  ".join([*words, f"request {decision['requestId']}"])


def _wanted(given: Mapping[str, Any]) -> DecisionFilter:
    """
    Read filters as the API does.

    Raises:
        InvalidInput: One is none.
    """
    named = {name: str(value) for name, value in given.items() if value is not None}
    try:
        return DecisionFilters.model_validate(named).wanted()
    except ValidationError as problem:
        found = problem.errors(include_url=False, include_input=False)
        raise refused(details_of(found)) from None


def _place(row: Numbered) -> tuple[int, int]:
    """Return where a row stands in the order of time."""
    return row[1].at, row[0]


async def _since(database: Database, wanted: DecisionFilter, since: int) -> list[Numbered]:
    """Return the rows from *since* on, oldest first."""
    asked = replace(wanted, since=max(since, wanted.since or 0))
    found = list[Numbered]()
    before: tuple[int, int] | None = None
    while True:
        page = await reading.newest(database, asked, limit=_PAGE, before=before)
        found += page
        if len(page) < _PAGE:
            return found[::-1]
        before = _place(page[-1])
