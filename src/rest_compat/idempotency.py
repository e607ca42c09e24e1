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
from rest_compat.errors import problem
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused, Ledger
from rest_compat.ports import AdmittedRequest, Problem
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

if TYPE_CHECKING:  # uploads read the name of the header here
    from rest_compat.readers import Body

KEY_HEADER = "idempotency-key"
REPLAYED_HEADER = ("Idempotent-Replayed", "true")

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


def make_intent(call: RestRequest, visit: AdmittedRequest, key: str, body: bytes) -> Intent:
    """Name what the caller wants to happen once."""
    query: bytes = call.scope["query_string"]
    return Intent(
        token_id=visit.token_id,
        method=call.method,
        path=call.path,
        key=key,
        fingerprint=hashlib.sha256(b"%d:%b%b" % (len(query), query, body)).digest(),
    )


async def run_once(
    wanted: Intent,
    run: Callable[[], Awaitable[RestResponse]],
    *,
    body: "Body | None",
    mark_attempt: Callable[..., None],
    ledger: Ledger,
) -> RestResponse:
    """
    Run *wanted* unless it was run before; then return the answer it had.

    *mark_attempt* is told the try, as `RequestEntry.mark_attempt` is.

    Raises:
        Problem: 409: the key belongs to another request, or the intent is still running.
    """
    begun = await ledger.begin(wanted)
    if isinstance(begun, Completed):
        await _require_same(begun.answer, body)
        return begun.answer.with_headers(REPLAYED_HEADER)
    if isinstance(begun, InProgress):
        raise problem(
            Code.IDEMPOTENCY_IN_PROGRESS,
            "A request with this Idempotency-Key is still running.",
            status=409,
        )
    if isinstance(begun, KeyReused):
        raise _reused()
    mark_attempt(seed=begun.seed, maybe_sent=begun.maybe_sent)
    try:
        answer = await run()
        if body is not None:
            answer = replace(answer, upload_digest=body.digest)
        await _close(begun, answer, ledger)
    except BaseException:
        # Whatever ended the run, what it did is unknown: the next try looks it up.
        await asyncio.shield(ledger.abandon(begun))
        raise
    return answer


async def _require_same(kept: RestResponse, body: "Body | None") -> None:
    """
    Hold bytes that stream against those that were answered: their size alone was known so far.

    Raises:
        Problem: 409: they are others; or as `Body.finish`.
    """
    if not kept.upload_digest or body is None:
        return
    await body.finish()
    if body.digest != kept.upload_digest:
        raise _reused()


def _reused() -> Problem:
    return problem(
        Code.IDEMPOTENCY_KEY_REUSED,
        "This Idempotency-Key was used with another request.",
        status=409,
    )


async def _close(begun: Attempt, answer: RestResponse, ledger: Ledger) -> None:
    """
    Keep the answer, unless a retry should run again: its outcome decides.

    Not kept: 401, 429, and 5xx other than 504. A 504 may hide a success, so it is kept. A 500 is a
    bug of ours that may have struck after the provider said yes; the others say that nothing was
    done.
    """
    status = answer.outcome_status or answer.status
    if status in {401, 429} or (status >= 500 and status != 504):
        await ledger.release(begun, maybe_sent=begun.maybe_sent or status == 500)
    else:
        await ledger.complete(begun, answer)
