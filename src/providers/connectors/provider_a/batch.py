"""
Many reads in one call: provider A's multipart batch.

Both ways by hand: a general parser costs more than all the rest of a page (performance report,
6.1). Source: wire report 1A.1.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from providers.batches import GONE_STATUSES, BatchReader
from providers.connectors.provider_a.failures import classify
from providers.connectors.provider_a.gmail.response_types import Message
from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Response

MAX_PER_CALL = 50  # more are throttled; wire report 1A.1
ROOT = ("gmail", "v1", "users", "me")

_BOUNDARY = "part_of_one_page"
_PART_ID = re.compile(rb"content-id:\s*<?(?:response-)?<?item-(\d+)>?", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_WAIT = re.compile(rb"retry-after:\s*(\d{1,6})", re.IGNORECASE)

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `BatchReader.read`."""
    batch = BatchReader(
        upstream=upstream,
        read_many=lambda ids: _call(upstream, ids, params),
        read_one=lambda name: upstream.call(
            "GET", *ROOT, "messages", name, params=params, accept=GONE_STATUSES
        ),
        decode=lambda answer: answer.decode(Message),
        classify=classify,
        max_size=MAX_PER_CALL,
    )
    return await batch.read(message_ids)


async def _call(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Response]:
    answer = await upstream.call(
        "POST",
        "batch",
        "gmail",
        "v1",
        content=_request(message_ids, params),
        headers={"content-type": f"multipart/mixed; boundary={_BOUNDARY}"},
        retry=True,
        changes=False,
    )
    parts = _read(answer)
    if len(parts) != len(message_ids) or not all(0 <= at < len(message_ids) for at in parts):
        raise Broken
    return {message_ids[at]: part for at, part in parts.items()}


def _request(message_ids: Sequence[str], params: Params) -> bytes:
    query = urlencode(params)
    path = "/".join(("", *ROOT, "messages"))
    lines = [
        f"--{_BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: <item-{at}>\r\n\r\n"
        f"GET {path}/{name}?{query} HTTP/1.1\r\n\r\n\r\n"
        for at, name in enumerate(message_ids)
    ]
    return f"{''.join(lines)}--{_BOUNDARY}--\r\n".encode()


def _read(answer: Response) -> dict[int, Response]:
    """Take a multipart answer apart: each inner answer by the place of its question."""
    boundary = re.search(r'boundary="?([^";]+)', answer.headers.get("content-type", ""))
    if boundary is None:
        raise Broken
    found: dict[int, Response] = {}
    for piece in answer.body.split(b"--" + boundary[1].strip().encode())[1:]:
        if piece.startswith(b"--"):
            break
        outer, _, inner = _split(piece.lstrip(b"\r\n"))
        head, _, body = _split(inner.lstrip(b"\r\n"))
        place, status = _PART_ID.search(outer), _STATUS.match(head)
        if place is None or status is None:
            raise Broken
        code = int(status[1])
        wait = _WAIT.search(head) if code >= 300 else None
        headers = {"retry-after": wait[1].decode()} if wait else {}
        found[int(place[1])] = Response(code, headers, body)
    return found


def _split(piece: bytes) -> tuple[bytes, bytes, bytes]:
    """Split at the first empty line, however lines end."""
    if b"\r\n\r\n" in piece:
        return piece.partition(b"\r\n\r\n")
    return piece.partition(b"\n\n")
