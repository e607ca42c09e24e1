"""
Doing a POST once: the `Idempotency-Key`, and what becomes of the answer under it.

Source: decisions 5.9. The key is scoped to token, method and path. Gates and authentication have
passed anew when this runs, also for a replay.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from policy.vocabulary import Code
from rest_compat.call import Call
from rest_compat.errors import problem
from rest_compat.ledger import Begun, Done, Intent, Ledger, Reused, Running
from rest_compat.ports import Problem, Visit
from rest_compat.responses import Answer

if TYPE_CHECKING:  # uploads read the name of the header here
    from rest_compat.readers import Body

HEADER = "idempotency-key"
REPLAYED = ("Idempotent-Replayed", "true")

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def read_key(values: Sequence[str]) -> str | None:
    """
    Read the key, or None when no key was sent.

    Raises:
        Problem: 400 `INVALID_PARAMETER`: two keys, or not 1 to 255 visible ASCII characters.
    """
    if not values:
        return None
    if len(values) > 1 or not _KEY.fullmatch(values[0]):
        why = "must be one value of 1 to 255 visible ASCII characters"
        raise problem(
            Code.INVALID_PARAMETER,
            f"Idempotency-Key {why}.",
            status=400,
            details=[("Idempotency-Key", f"It {why}.")],
        )
    return values[0]


def intent(call: Call, visit: Visit, key: str, body: bytes) -> Intent:
    """Name what the caller wants to happen once."""
    query: bytes = call.scope["query_string"]
    return Intent(
        token_id=visit.token_id,
        method=call.method,
        path=call.path,
        key=key,
        fingerprint=hashlib.sha256(b"%d:%b%b" % (len(query), query, body)).digest(),
    )


async def once(
    wanted: Intent,
    run: Callable[[], Awaitable[Answer]],
    *,
    body: "Body | None",
    deliver: Callable[..., None],
    ledger: Ledger,
) -> Answer:
    """
    Run *wanted* unless it was run before; then return the answer it had.

    *deliver* is told the try, as `Door.deliver` is.

    Raises:
        Problem: 409: the key belongs to another request, or the intent is still running.
    """
    begun = await ledger.begin(wanted)
    if isinstance(begun, Done):
        await _require_same(begun.answer, body)
        return begun.answer.having(REPLAYED)
    if isinstance(begun, Running):
        raise problem(
            Code.IDEMPOTENCY_IN_PROGRESS,
            "A request with this Idempotency-Key is still running.",
            status=409,
        )
    if isinstance(begun, Reused):
        raise _reused()
    deliver(seed=begun.seed, maybe_sent=begun.maybe_sent)
    try:
        answer = await run()
        if body is not None:
            answer = replace(answer, upload=body.digest)
        await _close(begun, answer, ledger)
    except BaseException:
        # Whatever ended the run, what it did is unknown: the next try looks it up.
        await asyncio.shield(ledger.abandon(begun))
        raise
    return answer


async def _require_same(kept: Answer, body: "Body | None") -> None:
    """
    Hold bytes that stream against those that were answered: their size alone was known so far.

    Raises:
        Problem: 409: they are others; or as `Body.finish`.
    """
    if not kept.upload or body is None:
        return
    await body.finish()
    if body.digest != kept.upload:
        raise _reused()


def _reused() -> Problem:
    return problem(
        Code.IDEMPOTENCY_KEY_REUSED,
        "This Idempotency-Key was used with another request.",
        status=409,
    )


async def _close(begun: Begun, answer: Answer, ledger: Ledger) -> None:
    """
    Keep the answer, unless a retry should run again: its outcome decides.

    Not kept: 401, 429, and 5xx other than 504. A 504 may hide a success, so it is kept. A 500 is a
    bug of ours that may have struck after the provider said yes; the others say that nothing was
    done.
    """
    status = answer.outcome or answer.status
    if status in {401, 429} or (status >= 500 and status != 504):
        await ledger.release(begun, maybe_sent=begun.maybe_sent or status == 500)
    else:
        await ledger.keep(begun, answer)
