"""
Many reads in one multipart call, of mail or of events: docs/spec/upstream/gmail.md#batch-reads.

Written and parsed by hand: a general multipart parser takes longer than all the rest of a page.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote, unquote

from providers.batches import GONE_STATUSES, BatchReader
from providers.connectors.provider_a.failures import classify
from providers.connectors.provider_a.gmail.response_types import Message, ThreadResponse
from providers.connectors.provider_a.google_calendar.response_types import Event
from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.urls import encode_query
from providers.ports.calendar import EventName

MAX_PER_CALL = 25  # larger batches are throttled, and so are two at once
BATCH_WEIGHT = 8  # of a batch of that size: all that the account may have under way
ROOT = ("gmail", "v1", "users", "me")
MESSAGES = (*ROOT, "messages")
THREADS = (*ROOT, "threads")
CALENDARS = ("calendar", "v3", "calendars")

_BOUNDARY = "part_of_one_page"
_BOUNDARY_OF = re.compile(r'boundary="?([^";]+)')
_PART_ID = re.compile(rb"content-id:\s*<?(?:response-)?<?item-(\d{1,6})>?")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_RETRY_AFTER = re.compile(rb"retry-after:\s*(\d{1,6})")
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

Params = Sequence[tuple[str, str]]
T = TypeVar("T", Message, ThreadResponse, Event)


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `BatchReader.read`."""
    return await _read(upstream, MESSAGES, message_ids, params, Message, per_call=MAX_PER_CALL)


async def threads(
    upstream: Upstream, thread_ids: Sequence[str], params: Params, *, per_call: int
) -> dict[str, ThreadResponse]:
    """Read threads by their ids; see `BatchReader.read`."""
    return await _read(upstream, THREADS, thread_ids, params, ThreadResponse, per_call=per_call)


async def events(
    upstream: Upstream, names: Sequence[EventName], params: Params
) -> dict[EventName, Event]:
    """Read events of any calendars of the account; see `BatchReader.read`."""
    by_path = {
        f"{quote(name.calendar, safe='')}/events/{quote(name.event, safe='')}": name
        for name in names
    }
    read = await _read(upstream, CALENDARS, list(by_path), params, Event, per_call=MAX_PER_CALL)
    return {by_path[path]: event for path, event in read.items()}


async def event_pages(
    upstream: Upstream, calendars: Sequence[str], params: Params
) -> dict[str, Response]:
    """
    Read a page of events of each calendar in one call; those whose part failed are left out.

    Raises:
        ProviderFailure: The whole call failed.
    """
    by_path = {f"{quote(calendar, safe='')}/events": calendar for calendar in calendars}
    parts = await _call(upstream, CALENDARS, list(by_path), params)
    return {by_path[path]: part for path, part in parts.items() if part.status < 300}


async def _read(  # noqa: PLR0913 - what a batch of reads has
    upstream: Upstream,
    path: Sequence[str],
    names: Sequence[str],
    params: Params,
    shape: type[T],
    *,
    per_call: int,
) -> dict[str, T]:
    batch = BatchReader(
        upstream=upstream,
        read_many=lambda ids: _call(upstream, path, ids, params),
        read_one=lambda name: upstream.call(
            "GET", *path, *map(unquote, name.split("/")), params=params, accept=GONE_STATUSES
        ),
        decode=lambda response: response.decode(shape),
        classify=classify,
        max_size=per_call,
    )
    return await batch.read(names)


async def _call(
    upstream: Upstream, path: Sequence[str], names: Sequence[str], params: Params
) -> dict[str, Response]:
    response = await upstream.call(
        "POST",
        "batch",
        *path[:2],
        content=_request(path, names, params),
        headers={"content-type": f"multipart/mixed; boundary={_BOUNDARY}"},
        retry=True,
        changes=False,
        weight=-(-len(names) * BATCH_WEIGHT // MAX_PER_CALL),  # rounded up
    )
    parts = _parse(response)
    if parts.keys() != set(range(len(names))):
        raise Broken
    return {names[index]: part for index, part in parts.items()}


def _request(path: Sequence[str], names: Sequence[str], params: Params) -> bytes:
    before = f"--{_BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: <item-"
    between = f">\r\n\r\nGET {'/'.join(('', *path))}/"
    after = f"?{encode_query(params)} HTTP/1.1\r\n\r\n\r\n"
    parts = [f"{before}{index}{between}{name}{after}" for index, name in enumerate(names)]
    return f"{''.join(parts)}--{_BOUNDARY}--\r\n".encode()


def _parse(response: Response) -> dict[int, Response]:
    """Return the inner responses of a multipart response by the index of their request."""
    boundary = _BOUNDARY_OF.search(response.headers.get("content-type", ""))
    if boundary is None:
        raise Broken
    parts: dict[int, Response] = {}
    for piece in response.body.split(b"--" + boundary[1].strip().encode())[1:]:
        if piece.startswith(b"--"):
            break
        outer, inner = _split(piece.lstrip(b"\r\n"))
        head, body = _split(inner.lstrip(b"\r\n"))
        # A pattern that ignores case takes five times as long.
        index, status = _PART_ID.search(outer.lower()), _STATUS.match(head)
        if index is None or status is None:
            raise Broken
        code = int(status[1])
        headers = _NO_HEADERS if code < 300 else _retry_after(head)
        parts[int(index[1])] = Response(code, headers, body)
    return parts


def _split(piece: bytes) -> tuple[bytes, bytes]:
    """Split at the first empty line, with either line end."""
    head, empty_line, rest = piece.partition(b"\r\n\r\n")
    if not empty_line:
        head, _, rest = piece.partition(b"\n\n")
    return head, rest


def _retry_after(head: bytes) -> Mapping[str, str]:
    seconds = _RETRY_AFTER.search(head.lower())
    return {"retry-after": seconds[1].decode()} if seconds else _NO_HEADERS
