"""Many reads in one call: docs/spec/upstream/errors-and-throttling.md#microsoft-graph-batch."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from providers.batches import GONE_STATUSES, BatchReader
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.failures import classify
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_calendar.response_types import Event
from providers.connectors.provider_b.outlook_mail.response_types import (
    DeltaPage,
    Folder,
    Message,
    MessagePage,
    decode_message,
    decode_page,
)
from providers.http.client import Upstream
from providers.http.response import Response
from providers.odata import MAX_BATCH, call_batch
from providers.ports.calendar import EventName

BATCH_WEIGHT = 4  # upstream runs four parts at a time

Params = Sequence[tuple[str, str]]
T = TypeVar("T", Message, MessagePage, DeltaPage, Folder, Event)


async def messages(
    user: GraphUser, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `BatchReader.read`."""
    return await _read(
        user.upstream,
        message_ids,
        lambda message_id: Target((*user.messages, message_id), params),
        decode_message,
        per_call=MAX_BATCH,
    )


async def conversations(
    user: GraphUser, thread_ids: Sequence[str], params_of: Callable[[str], Params], *, per_call: int
) -> dict[str, MessagePage]:
    """Read the first page of each conversation; see `BatchReader.read`."""
    return await _read(
        user.upstream,
        thread_ids,
        lambda thread_id: Target(user.messages, params_of(thread_id)),
        decode_page,
        per_call=per_call,
    )


async def folders(user: GraphUser, names: Sequence[str]) -> dict[str, Folder]:
    """Read the ids of mail folders by their well-known names; see `BatchReader.read`."""
    params = (("$select", "id"),)
    return await _read(
        user.upstream,
        names,
        lambda name: Target((*user.root, "mailFolders", name), params),
        lambda response: response.decode(Folder),
        per_call=MAX_BATCH,
    )


async def deltas(user: GraphUser, targets: Mapping[str, "Target"]) -> dict[str, DeltaPage]:
    """Read a page of each delta query; those that are not known any more are left out."""
    return await _read(
        user.upstream,
        list(targets),
        targets.__getitem__,
        lambda response: response.decode(DeltaPage),
        per_call=MAX_BATCH,
    )


async def events(
    user: GraphUser, names: Sequence[EventName], params: Params, *, headers: Mapping[str, str]
) -> dict[EventName, Event]:
    """Read events of any calendars of the account; see `BatchReader.read`."""
    by_number = {str(number): name for number, name in enumerate(names)}

    def target(number: str) -> Target:
        name = by_number[number]
        return Target(
            (*user.root, "calendars", name.calendar, "events", name.event), params, headers
        )

    events = await _read(
        user.upstream,
        list(by_number),
        target,
        lambda response: response.decode(Event),
        per_call=MAX_BATCH,
    )
    return {by_number[number]: event for number, event in events.items()}


async def event_pages(
    user: GraphUser, calendars: Sequence[str], params: Params, *, headers: Mapping[str, str]
) -> dict[str, Response]:
    """
    Read a page of the view of each calendar in one call; those whose part failed are left out.

    Raises:
        ProviderFailure: The whole call failed.
    """
    targets = [
        Target((*user.root, "calendars", calendar, "calendarView"), params, headers)
        for calendar in calendars
    ]
    parts = await call_batch(
        user.upstream,
        [request(target) for target in targets],
        changes=False,
        weight=min(len(targets), BATCH_WEIGHT),
    )
    return {
        calendar: part for calendar, part in zip(calendars, parts, strict=True) if part.status < 300
    }


class Target(msgspec.Struct, frozen=True):
    """A read of one part: *path* with the version."""

    path: Sequence[str]
    params: Params
    headers: Mapping[str, str] = msgspec.field(default_factory=lambda: PREFER)

    @property
    def url(self) -> str:
        """Return the URL below the version."""
        path = "/".join(quote(segment, safe="") for segment in self.path[1:])
        return f"/{path}?{urlencode(self.params, quote_via=quote)}"


def request(target: Target) -> Mapping[str, object]:
    """Return the read as a part of a batch."""
    return {"method": "GET", "url": target.url, "headers": target.headers}


async def _read(
    upstream: Upstream,
    names: Sequence[str],
    target: Callable[[str], Target],
    decode: Callable[[Response], T],
    *,
    per_call: int,
) -> dict[str, T]:
    async def read_many(names: Sequence[str]) -> dict[str, Response]:
        requests = [request(target(name)) for name in names]
        responses = await call_batch(upstream, requests, changes=False, weight=BATCH_WEIGHT)
        return dict(zip(names, responses, strict=True))

    def read_one(name: str) -> Awaitable[Response]:
        single = target(name)
        return upstream.call(
            "GET", *single.path, params=single.params, headers=single.headers, accept=GONE_STATUSES
        )

    batch = BatchReader(
        upstream=upstream,
        read_many=read_many,
        read_one=read_one,
        decode=decode,
        classify=classify,
        max_size=per_call,
    )
    return await batch.read(names)
