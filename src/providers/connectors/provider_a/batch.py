"""
Many reads in one multipart call: docs/spec/upstream/gmail.md#batch-reads.

Written and parsed by hand: a general multipart parser takes longer than all the rest of a page.
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

MAX_PER_CALL = 25  # larger batches are throttled, and so are two at once
BATCH_WEIGHT = 8  # of a batch of that size: all that the account may have under way
ROOT = ("gmail", "v1", "users", "me")
MESSAGES = (*ROOT, "messages")

_BOUNDARY = "part_of_one_page"
_PART_ID = re.compile(rb"content-id:\s*<?(?:response-)?<?item-(\d{1,6})>?", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_RETRY_AFTER = re.compile(rb"retry-after:\s*(\d{1,6})", re.IGNORECASE)

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    """Read messages by their ids; see `BatchReader.read`."""
    batch = BatchReader(
        upstream=upstream,
        read_many=lambda ids: _call(upstream, ids, params),
        read_one=lambda name: upstream.call(
            "GET", *MESSAGES, name, params=params, accept=GONE_STATUSES
        ),
        decode=lambda response: response.decode(Message),
        classify=classify,
        max_size=MAX_PER_CALL,
    )
    return await batch.read(message_ids)


async def _call(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Response]:
    response = await upstream.call(
        "POST",
        "batch",
        "gmail",
        "v1",
        content=_request(message_ids, params),
        headers={"content-type": f"multipart/mixed; boundary={_BOUNDARY}"},
        retry=True,
        changes=False,
        weight=-(-len(message_ids) * BATCH_WEIGHT // MAX_PER_CALL),  # rounded up
    )
    parts = _parse(response)
    if parts.keys() != set(range(len(message_ids))):
        raise Broken
    return {message_ids[index]: part for index, part in parts.items()}


def _request(message_ids: Sequence[str], params: Params) -> bytes:
    query = urlencode(params)
    path = "/".join(("", *MESSAGES))
    lines = [
        f"--{_BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: <item-{index}>\r\n\r\n"
        f"GET {path}/{message_id}?{query} HTTP/1.1\r\n\r\n\r\n"
        for index, message_id in enumerate(message_ids)
    ]
    return f"{''.join(lines)}--{_BOUNDARY}--\r\n".encode()


def _parse(response: Response) -> dict[int, Response]:
    """Return the inner responses of a multipart response by the index of their request."""
    boundary = re.search(r'boundary="?([^";]+)', response.headers.get("content-type", ""))
    if boundary is None:
        raise Broken
    parts: dict[int, Response] = {}
    for piece in response.body.split(b"--" + boundary[1].strip().encode())[1:]:
        if piece.startswith(b"--"):
            break
        outer, _, inner = _split(piece.lstrip(b"\r\n"))
        head, _, body = _split(inner.lstrip(b"\r\n"))
        index, status = _PART_ID.search(outer), _STATUS.match(head)
        if index is None or status is None:
            raise Broken
        code = int(status[1])
        retry_after = _RETRY_AFTER.search(head) if code >= 300 else None
        headers = {"retry-after": retry_after[1].decode()} if retry_after else {}
        parts[int(index[1])] = Response(code, headers, body)
    return parts


def _split(piece: bytes) -> tuple[bytes, bytes, bytes]:
    """Split at the first empty line, with either line end."""
    if b"\r\n\r\n" in piece:
        return piece.partition(b"\r\n\r\n")
    return piece.partition(b"\n\n")
