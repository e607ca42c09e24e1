"""The audit log of decisions: listed, followed and verified."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, ValidationError

from gateway.audit import heads, provider_errors, reading, seals
from gateway.audit.chain import CONTEXT, DAY_MS, ChainFault, Link, payload_of
from gateway.audit.decision import Decision, Outcome
from gateway.audit.heads import HeadCheck
from gateway.audit.reading import DecisionFilter, Numbered
from gateway.errors import CommandError
from gateway.operations import views
from gateway.operations.inputs import Query, TimeText, WholeNumberText
from gateway.operations.validation import details, invalid, invalid_query
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken
from policy.counts import counted
from policy.refusals import NotFound
from policy.vocabulary import Code, Layer, Surface

POLL_SECONDS = 1.0
# Rows are stored in batches by several processes: one may appear this long after a later one.
OVERLAP_MS = 15_000
_PAGE = 500  # rows per query
_MAX_REQUEST_ID = 128
_REQUEST_ID = re.compile(rf"[A-Za-z0-9._-]{{1,{_MAX_REQUEST_ID}}}")


class NoProviderErrors(NotFound):
    """No response of a provider is stored for the request; *sentence* is for the command line."""

    def __init__(self, request_id: str) -> None:
        shown = request_id[:_MAX_REQUEST_ID]
        self.sentence = f"No provider error is stored for request {shown}."
        super().__init__(self.sentence)


class DecisionQuery(Query):
    """Filters of decisions as texts; `since` is part of the time asked for, `until` is not."""

    token_id: Annotated[WholeNumberText, Field(ge=1, le=2**63 - 1)] | None = None
    outcome: Outcome | None = None
    surface: Surface | None = None
    since: TimeText | None = None
    until: TimeText | None = None
    operation: Annotated[str, Field(max_length=64)] | None = None
    layer: Layer | None = None
    code: Code | None = None
    request_id: Annotated[str, Field(max_length=128)] | None = None
    actor: Annotated[str, Field(max_length=100)] | None = None

    def filter(self) -> DecisionFilter:
        return DecisionFilter(**self.model_dump(include=set(DecisionQuery.model_fields)))


def query(filters: Mapping[str, Any]) -> DecisionQuery:
    """
    Parse *filters*, named as in the API; None means any.

    Raises:
        InvalidInput: A filter has no valid value.
    """
    texts = {name: str(value) for name, value in filters.items() if value is not None}
    try:
        return DecisionQuery.model_validate(texts)
    except ValidationError as error:
        raise invalid_query(details(error)) from None


async def list_newest(
    database: Database, wanted: DecisionQuery, *, limit: int, before: tuple[int, int] | None = None
) -> list[views.Decision]:
    """Return decisions, newest first; *before* is (milliseconds, id) of the last one returned."""
    rows = await reading.newest(database, wanted.filter(), limit=limit, before=before)
    return [view(number, decision) for number, decision in rows]


async def follow(
    database: Database, wanted: DecisionQuery, *, last: int, warn: Callable[[str], None]
) -> AsyncGenerator[views.Decision, None]:
    """
    Yield the *last* decisions, oldest first, and then each new one, without end.

    When the database does not answer, *warn* is called once and polling goes on.
    """
    log_filter = wanted.filter()
    latest = await reading.newest(database, log_filter, limit=max(last, 1))
    for number, decision in latest[:last][::-1]:
        yield view(number, decision)
    start = newest = max((_position(row) for row in latest), default=(0, 0))
    seen, reachable = set[int](), True
    while True:
        try:
            recent = await _since(database, log_filter, newest[0] - OVERLAP_MS)
        except StorageUnavailable:
            if reachable:
                warn("The database does not answer; trying again.")
            reachable = False
        else:
            reachable = True
            for number, decision in recent:
                if number not in seen and (seen or (decision.at, number) > start):
                    yield view(number, decision)
            seen = {number for number, _ in recent}
            newest = max((_position(row) for row in recent), default=newest)
        await asyncio.sleep(POLL_SECONDS)


async def verify(
    database: Database, keyring: Keyring, *, days: int = 0, kept_heads: Sequence[str] = ()
) -> dict[str, Any]:
    """
    Check every signature chain, its end and the order of its rows in pages.

    Chains of days before the retention period of *days* may be gone. *kept_heads* are heads as they
    were logged, which the chains are compared with.

    Returns:
        The number of `rows` and the `faults`: `chain`, `number`, `last` and `fault`. A fault is at
        the row with that number, or at some rows from there to `last`.

    Raises:
        InvalidInput: One of *kept_heads* is not a head.
    """
    rows = 0
    first_kept = timestamps.now_ms() - days * DAY_MS if days else 0
    check = HeadCheck(keyring, await heads.read(database), list(map(_kept_head, kept_heads)))

    async def counted(
        linked: AsyncIterator[tuple[Link, Decision]],
    ) -> AsyncIterator[tuple[Link, Decision]]:
        nonlocal rows
        async for row in linked:
            rows += 1
            check.see(row[0])
            yield row

    linked, sealed = counted(reading.in_chain_order(database)), await reading.seals(database)
    faults = [fault async for fault in seals.faults(keyring, linked, sealed)]
    first_day = timestamps.to_text(first_kept)[:10]
    faults += check.faults(await heads.read(database), first_day=first_day)
    # The signature of the last row stands in the head too.
    return {"rows": rows, "faults": [_fault_view(fault) for fault in dict.fromkeys(faults)]}


def _fault_view(fault: ChainFault) -> dict[str, Any]:
    return {
        "chain": fault.chain,
        "number": fault.number,
        "last": fault.last,
        "fault": fault.fault.value,
    }


def _kept_head(text: str) -> Link:
    try:
        return heads.parse(text)
    except ValueError:
        raise invalid("head", "is not a head as the log has it: CHAIN:NUMBER:DIGEST") from None


async def reasons(database: Database, keyring: Keyring, request_id: str) -> views.ProviderErrors:
    """
    Return what providers answered behind a request that failed then.

    Raises:
        NoProviderErrors: Nothing is stored for the id.
    """
    listed = (
        await provider_errors.of_request(database, keyring, request_id)
        if _REQUEST_ID.fullmatch(request_id)
        else ()
    )
    if not listed:
        raise NoProviderErrors(request_id)
    errors = list(map(views.ProviderError.of, listed))
    return views.ProviderErrors(request_id=request_id, errors=errors)


async def explained(database: Database, request_id: str) -> list[dict[str, Any]]:
    """
    Explain what was decided of a request: `decision`, `layers` and `sentences` of each row.

    Raises:
        CommandError: The log has no row of the request.
    """
    rows = await list_newest(database, query({"requestId": request_id}), limit=_PAGE)
    if not rows:
        raise CommandError(
            f"The decision log has no request {request_id}: it is of another deployment, older "
            "than AGW_DECISION_DAYS, or was refused before its token was known."
        )
    async with database.reading() as session:
        revisions = {
            row.token_id: token.policy_rev
            for row in rows
            if (token := await session.get(AccessToken, row.token_id or 0)) is not None
        }
    return [
        {
            "decision": row.as_json(),
            "layers": _layers(row),
            "sentences": list(_sentences(row, revisions.get(row.token_id or 0))),
        }
        for row in rows
    ]


def _layers(row: views.Decision) -> list[dict[str, str]]:
    """Return every layer and whether the call passed it; nothing for a change."""
    layers = [] if row.actor else list(Layer)
    end = len(layers) if row.layer is None else layers.index(Layer(row.layer))
    outcomes = ["passed"] * end + [row.outcome] + ["not_reached"] * len(layers)
    return [
        {"layer": layer.value, "outcome": outcome}
        for layer, outcome in zip(layers, outcomes, strict=False)
    ]


def _sentences(row: views.Decision, revision: int | None) -> Iterator[str]:
    """Say what the log holds of a call, and what it does not know."""
    who = f"Change by {row.actor}" if row.actor else f"Token {row.token_id}"
    dry = ", a dry run" if row.dry_run else ""
    code = f" {row.code}" if row.code else ""
    operation = row.operation or "no operation"
    yield f"{timestamps.to_text(row.at)}  {who}: {operation} by {row.door}{dry}"
    yield f"{row.outcome.capitalize()}: {row.status}{code}"
    if row.rule_id is not None:
        yield f"Rule {row.rule_id} decided."
    if row.resource_id is not None:
        yield f"It named {row.resource_id}."
    if row.hidden_fields:
        yield f"The token may not see {counted(row.hidden_fields, 'field')} of the surface."
    if row.upstream_calls:
        status = f", the last with status {row.upstream_status}" if row.upstream_status else ""
        yield f"{counted(row.upstream_calls, 'call')} of providers{status}."
    if row.layer == Layer.UPSTREAM:
        yield f"Their responses: `access-gateway decisions reason {row.request_id}`."
    if revision not in {None, row.policy_revision}:
        yield "The token's settings or rules were changed since then."
    if row.actor is None:
        yield (
            "The log holds neither path, parameters nor content. What would allow such a call now: "
            f"`access-gateway explain {row.token_id} METHOD PATH`."
        )


async def count_older_chains(database: Database, keyring: Keyring) -> int:
    """
    Return how many chains need a key behind the first one of the ring, or one that is not there.

    Only the first and the last row of each chain are looked at.
    """
    sealed = await reading.seals(database)
    older = set()
    async for previous, link, row in reading.ends_of_chains(database):
        covering = seals.seal_at(sealed.get(link.chain, ()), link.number)
        payload = payload_of(link.chain, link.number, previous, row)
        if not (
            keyring.is_current(link.signature, payload, context=CONTEXT)
            if covering is None
            else seals.is_current(covering, keyring)
        ):
            older.add(link.chain)
    stored = await heads.read(database)
    older.update(head.chain for head in stored.values() if not heads.is_current(head, keyring))
    return len(older)


def view(number: int, decision: Decision) -> views.Decision:
    """Return the API's Decision object; *number* is its id."""
    return views.Decision.of(
        decision,
        id=number,
        token_id=decision.token_id or None,
        operator_id=decision.operator_id or None,
        policy_revision=decision.policy_rev,
        duration_ms=round(decision.duration / 1000, 1),
    )


def _position(row: Numbered) -> tuple[int, int]:
    """Return where a row stands in the order of time."""
    return row[1].at, row[0]


async def _since(database: Database, wanted: DecisionFilter, since: int) -> list[Numbered]:
    """Return the rows from *since* (milliseconds) on, oldest first."""
    bounded = replace(wanted, since=max(since, wanted.since or 0))
    rows = list[Numbered]()
    before: tuple[int, int] | None = None
    while True:
        page = await reading.newest(database, bounded, limit=_PAGE, before=before)
        rows += page
        if len(page) < _PAGE:
            return rows[::-1]
        before = _position(page[-1])
