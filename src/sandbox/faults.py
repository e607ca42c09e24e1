"""
Faults that tests and demos set on an upstream.

The status kinds answer in the upstream's own words without running the call; so do ``timeout``,
``reset``, ``malformed``, ``html`` and ``gzipbomb``. ``slow``, ``drip``, ``lostAnswer``,
``spoiltAnswer``, ``foreignNextLink`` and ``repeatedNextLink`` run the call and spoil its answer.
Source: decisions 14; reference/wire.md 7.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson

from sandbox.asgi import Answer, ConnectionCut, Request, Unanswered
from sandbox.error_bodies import Shape

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
_LONG = 3600.0  # seconds: far beyond any caller's patience
_HALF = b'{"value": [{"id": "tru'
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body>Please wait</body></html>"


@dataclass(slots=True, kw_only=True)
class Fault:
    """
    What goes wrong, and when.

    Attributes:
        count: How many more calls it hits; None for all until it is cleared.
        retry_after: Seconds, for the Retry-After header of a status kind.
        match: A part of path and query, as sent or decoded; "" matches all.
        method: Restricts to one method; "" does not.
        delay: Seconds: of ``slow`` before the answer, of ``drip`` between two pieces, of
            ``timeout`` until the connection is cut.
        reason: The upstream's error word, in place of the usual one (403 as a throttle, say).
    """

    kind: str
    count: int | None = None
    retry_after: int | None = None
    match: str = ""
    method: str = ""
    delay: float | None = None
    reason: str = ""

    def hits(self, request: Request, target: str, also: str = "") -> bool:
        """
        Whether this call is to fail.

        *target* is its path and query as sent; *also* is further text that `match` may stand in.
        """
        if self.count == 0 or (self.method and self.method.upper() != request.method):
            return False
        query = "&".join(f"{name}={value}" for name, value in request.query)
        return any(self.match in one for one in (target, f"{request.path}?{query}", also))

    def describe(self) -> dict[str, Any]:
        """Return it as the control path shows it."""
        return {
            "kind": self.kind,
            "count": self.count,
            "retryAfter": self.retry_after,
            "match": self.match,
            "method": self.method,
            "delay": self.delay,
            "reason": self.reason,
        }


def read(wanted: Any, *, also: Collection[str] = ()) -> Fault:
    """
    Read a fault from JSON; *also* are kinds that this upstream has beside the usual ones.

    Raises:
        ValueError: It is not one; the message says why.
    """
    if not isinstance(wanted, dict):
        raise ValueError("A fault is an object.")  # noqa: TRY004 - all are input errors
    unknown = set(wanted) - {"kind", "count", "retryAfter", "match", "method", "delay", "reason"}
    if unknown:
        raise ValueError(f"Unknown: {', '.join(sorted(unknown))}.")
    kind = str(wanted.get("kind", ""))
    if kind not in KINDS and kind not in also:
        raise ValueError(f"kind is one of {', '.join(sorted({*KINDS, *also}))}.")
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


async def spoil(
    fault: Fault, request: Request, run: Callable[[], Awaitable[Answer]], shape: Shape
) -> Answer:
    """
    Answer a call that the fault hits.

    Raises:
        ConnectionCut, Unanswered: No answer is to come.
    """
    if fault.kind.isdigit():
        return shape(int(fault.kind), reason=fault.reason, retry_after=fault.retry_after)
    match fault.kind:
        case "timeout":
            raise Unanswered(_LONG if fault.delay is None else fault.delay)
        case "reset":
            raise ConnectionCut("reset by the sandbox")
        case "malformed":
            return Answer(body=_HALF, headers=_typed("application/json"))
        case "html":
            return Answer(body=_PAGE, headers=_typed("text/html; charset=utf-8"))
        case "gzipbomb":
            bomb = await asyncio.to_thread(_bomb)
            return Answer(
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


def _number(value: Any, read: Callable[[Any], _N]) -> _N | None:
    if value is None:
        return None
    if isinstance(value, bool) or (number := read(value)) < 0:
        raise ValueError
    return number


def _typed(kind: str) -> dict[str, str]:
    return {"content-type": kind}


def _bomb() -> bytes:
    """256 MiB of one JSON string in about 256 KiB."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = b" " * (1024 * 1024)
    pieces = [packer.compress(b'{"value": "')]
    pieces += [packer.compress(block) for _ in range(_BOMB_BYTES // len(block))]
    return b"".join((*pieces, packer.compress(b'"}'), packer.flush()))


def _dripping(answer: Answer, delay: float) -> Answer:
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


def _relinked(kind: str, request: Request, answer: Answer) -> Answer:
    """Put another next link, or one that leads to this very page, into a page's answer."""
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
