"""
Many reads in one call: provider A's multipart batch.

Both ways by hand: a general parser costs more than all the rest of a page (performance report,
6.1). Source: wire report 1A.1.
"""

import asyncio
import re
from collections.abc import Sequence
from urllib.parse import urlencode

from providers.answers import Answer
from providers.failures import Broken, Throttled
from providers.http import Upstream
from providers.provider_a.failures import classify

PER_CALL = 50  # more are throttled; wire report 1A.1
ROOT = ("gmail", "v1", "users", "me")

_BOUNDARY = "part_of_one_page"
_PART_ID = re.compile(rb"content-id:\s*<?(?:response-)?<?item-(\d+)>?", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})")
_WAIT = re.compile(rb"retry-after:\s*(\d{1,6})", re.IGNORECASE)
_PAUSE = 0.3  # seconds before what was throttled is asked for once more

Params = Sequence[tuple[str, str]]


async def messages(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, bytes]:
    """
    Read messages: the JSON of each by its id; those that are gone are left out.

    Raises:
        Throttled: Some are throttled, also when asked for once more.
        ProviderFailure: The call or one of its parts failed.
    """
    if len(message_ids) == 1:
        return await _singly(upstream, message_ids, params)
    chunks = [message_ids[at : at + PER_CALL] for at in range(0, len(message_ids), PER_CALL)]
    found = await asyncio.gather(*(_chunk(upstream, chunk, params) for chunk in chunks))
    return {name: body for one in found for name, body in one.items()}


async def _chunk(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, bytes]:
    parts = await _call(upstream, message_ids, params)
    again = [name for name, part in parts.items() if isinstance(classify(part), Throttled)]
    if again:
        await asyncio.sleep(_PAUSE)
        parts |= await _call(upstream, again, params)
    found: dict[str, bytes] = {}
    odd: list[str] = []
    for name, part in parts.items():
        if 200 <= part.status < 300:
            found[name] = part.body
        elif isinstance(failure := classify(part), Throttled):
            raise upstream.throttled(failure.retry_after)
        elif part.status not in (404, 410):
            odd.append(name)
    # Whatever else went wrong is asked for alone, where it is retried or raised as usual.
    return found | await _singly(upstream, odd, params)


async def _singly(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, bytes]:
    found = {}
    for name in message_ids:
        answer = await upstream.call(
            "GET", *ROOT, "messages", name, params=params, accept=(404, 410)
        )
        if answer.status < 300:
            found[name] = answer.body
    return found


async def _call(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Answer]:
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


def _read(answer: Answer) -> dict[int, Answer]:
    """Take a multipart answer apart: each inner answer by the place of its question."""
    boundary = re.search(r'boundary="?([^";]+)', answer.headers.get("content-type", ""))
    if boundary is None:
        raise Broken
    found: dict[int, Answer] = {}
    for piece in answer.body.split(b"--" + boundary[1].strip().encode())[1:]:
        if piece.startswith(b"--"):
            break
        outer, _, inner = _split(piece.lstrip(b"\r\n"))
        head, _, body = _split(inner.lstrip(b"\r\n"))
        place, status = _PART_ID.search(outer), _STATUS.match(head)
        if place is None or status is None:
            raise Broken
        wait = _WAIT.search(head)
        headers = {"retry-after": wait[1].decode()} if wait else {}
        found[int(place[1])] = Answer(int(status[1]), headers, body.strip())
    return found


def _split(piece: bytes) -> tuple[bytes, bytes, bytes]:
    """Split at the first empty line, however lines end."""
    if b"\r\n\r\n" in piece:
        return piece.partition(b"\r\n\r\n")
    return piece.partition(b"\n\n")
