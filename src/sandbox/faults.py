"""
Faults that tests and demos set on an upstream.

A status kind answers with the upstream's own error body and does not run the call; neither do
``timeout``, ``reset``, ``malformed``, ``html`` and ``gzipbomb``. ``slow``, ``drip``,
``lostAnswer``, ``spoiltAnswer``, ``foreignNextLink`` and ``repeatedNextLink`` run the call and
spoil its response. See docs/spec/sandbox.md#faults.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

import orjson

from sandbox.error_bodies import ErrorBuilder
from sandbox.http import ConnectionCut, NoResponse, Request, Response

_N = TypeVar("_N", int, float)

FOREIGN_LINK = "https://foreign.example/v1.0/next?$skiptoken=1"

_WORDS = frozenset(
    {
        "timeout",
        "reset",
        "malformed",
        "slow",
        "drip",
        "gzipbomb",
        "html",
        "foreignNextLink",
        "repeatedNextLink",
        "lostAnswer",
        "spoiltAnswer",
    }
)
_STATUSES = frozenset(map(str, (400, 401, 402, 403, 404, 409, 410, 412, 415, 423, 429)))
_FAILURES = frozenset(map(str, (500, 502, 503, 504, 507, 509)))
KINDS = _WORDS | _STATUSES | _FAILURES

_BOMB_BYTES = 256 * 1024 * 1024
_DRIP_PIECES = 20
_LONG = 3600.0  # seconds, longer than any client waits
_HALF = b'{"value": [{"id": "tru'
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Please wait</body></html>"


@dataclass(slots=True, kw_only=True)
class Fault:
    """
    A fault and the calls that it affects.

    Attributes:
        count: How many more calls fail; None means all calls until the fault is cleared.
        retry_after: Seconds, for the Retry-After header of a status kind.
        match: Part of path and query, as sent or decoded; "" matches every call.
        method: The only affected method; "" means all.
        delay: Seconds before the response of ``slow``, between two chunks of ``drip``, and until
            ``timeout`` cuts the connection.
        reason: Error word that replaces the usual one, such as a throttle told by a 403.
    """

    kind: str
    count: int | None = None
    retry_after: int | None = None
    match: str = ""
    method: str = ""
    delay: float | None = None
    reason: str = ""

    def matches(self, request: Request, target: str, document: str = "") -> bool:
        """
        Return whether this call fails.

        *target* is its path and query as sent; `match` may also be a part of *document*.
        """
        if self.count == 0 or (self.method and self.method.upper() != request.method):
            return False
        query = "&".join(f"{name}={value}" for name, value in request.query)
        return any(self.match in text for text in (target, f"{request.path}?{query}", document))

    def describe(self) -> dict[str, Any]:
        """Return the fault as the control path shows it."""
        return {
            "kind": self.kind,
            "count": self.count,
            "retryAfter": self.retry_after,
            "match": self.match,
            "method": self.method,
            "delay": self.delay,
            "reason": self.reason,
        }


def parse_fault(wanted: Any, *, own_kinds: Collection[str] = ()) -> Fault:
    """
    Read a fault from JSON; *own_kinds* are the kinds that only this upstream has.

    Raises:
        ValueError: The value is no fault; the message says why.
    """
    if not isinstance(wanted, dict):
        raise ValueError("A fault is an object.")  # noqa: TRY004 - all are input errors
    unknown = set(wanted) - {"kind", "count", "retryAfter", "match", "method", "delay", "reason"}
    if unknown:
        raise ValueError(f"Unknown: {', '.join(sorted(unknown))}.")
    kind = str(wanted.get("kind", ""))
    if kind not in KINDS and kind not in own_kinds:
        raise ValueError(f"kind is one of {', '.join(sorted({*KINDS, *own_kinds}))}.")
    try:
        return Fault(
            kind=kind,
            count=_number(wanted.get("count"), int),
            retry_after=_number(wanted.get("retryAfter"), int),
            match=str(wanted.get("match") or ""),
            method=str(wanted.get("method") or ""),
            delay=_number(wanted.get("delay"), float),
            reason=str(wanted.get("reason") or ""),
        )
    except (TypeError, ValueError):
        raise ValueError("count, retryAfter and delay are numbers, not negative.") from None


async def apply_fault(
    fault: Fault,
    request: Request,
    run: Callable[[], Awaitable[Response]],
    error_response: ErrorBuilder,
) -> Response:
    """
    Answer a call that a fault matches.

    Raises:
        ConnectionCut, Unanswered: No answer is to come.
    """
    if fault.kind.isdigit():
        return error_response(int(fault.kind), reason=fault.reason, retry_after=fault.retry_after)
    match fault.kind:
        case "timeout":
            raise NoResponse(_LONG if fault.delay is None else fault.delay)
        case "reset":
            raise ConnectionCut("reset by the sandbox")
        case "malformed":
            return Response(body=_HALF, headers=_typed("application/json"))
        case "html":
            return Response(body=_PAGE, headers=_typed("text/html; charset=utf-8"))
        case "gzipbomb":
            bomb = await asyncio.to_thread(_bomb)
            return Response(
                body=bomb, headers={**_typed("application/json"), "content-encoding": "gzip"}
            )
        case "slow":
            await asyncio.sleep(2.0 if fault.delay is None else fault.delay)
            return await run()
        case "lostAnswer":
            await run()
            raise ConnectionCut("answer lost by the sandbox")
        case "spoiltAnswer":
            return replace(await run(), body=_HALF, pieces=None)
        case "drip":
            return _dripping(await run(), 0.5 if fault.delay is None else fault.delay)
        case _:
            return _relinked(fault.kind, request, await run())


def _number(value: Any, convert: Callable[[Any], _N]) -> _N | None:
    if value is None:
        return None
    if isinstance(value, bool) or (number := convert(value)) < 0:
        raise ValueError
    return number


def _typed(kind: str) -> dict[str, str]:
    return {"content-type": kind}


@cache
def _bomb() -> bytes:
    """Return about 256 KiB of gzip that unpack to one JSON string of 256 MiB."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = b" " * (1024 * 1024)
    pieces = [packer.compress(b'{"value": "')]
    pieces += [packer.compress(block) for _ in range(_BOMB_BYTES // len(block))]
    return b"".join((*pieces, packer.compress(b'"}'), packer.flush()))


def _dripping(answer: Response, delay: float) -> Response:
    size = max(1, -(-len(answer.body) // _DRIP_PIECES))
    streamed = answer.pieces

    async def pieces() -> AsyncIterator[bytes]:
        if streamed is not None:
            async for piece in streamed:
                await asyncio.sleep(delay)
                yield piece
            return
        for start in range(0, len(answer.body), size):
            await asyncio.sleep(delay)
            yield answer.body[start : start + size]

    return replace(answer, pieces=pieces())


def _relinked(kind: str, request: Request, answer: Response) -> Response:
    """Replace a page's next link by one to another origin, or by one to the same page."""
    try:
        page = orjson.loads(answer.body)
    except ValueError:
        return answer
    if not isinstance(page, dict) or answer.status != 200:
        return answer
    if "value" in page:
        link = FOREIGN_LINK if kind == "foreignNextLink" else request.link()
        page["@odata.nextLink"] = link
    elif kind == "repeatedNextLink":
        page["nextPageToken"] = request.first("pageToken", "0")
    return replace(answer, body=orjson.dumps(page))
