"""
Runs a POST once per `Idempotency-Key` and replays its response (docs/spec/idempotency.md).

The key is scoped to token, method and path. Authentication and gates run before this module, for
replays too.
"""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from policy.vocabulary import Code
from rest_compat.errors import problem
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused, Ledger
from rest_compat.ports import AdmittedRequest, Problem
from rest_compat.readers import Body
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

REPLAYED_HEADER = ("Idempotent-Replayed", "true")

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def read_key(values: Sequence[str]) -> str | None:
    """
    Read the key from the header's values, or None when no key was sent.

    Raises:
        Problem: 400 `INVALID_PARAMETER`: two keys, or not 1 to 255 visible ASCII characters.
    """
    if not values:
        return None
    if len(values) > 1 or not _KEY.fullmatch(values[0]):
        reason = "must be one value of 1 to 255 visible ASCII characters"
        raise problem(
            Code.INVALID_PARAMETER,
            f"Idempotency-Key {reason}.",
            status=400,
            details=[("Idempotency-Key", f"It {reason}.")],
        )
    return values[0]


def make_intent(
    request: RestRequest, admitted: AdmittedRequest, key: str, body_fingerprint: bytes
) -> Intent:
    """Build the intent that identifies *request* in the ledger."""
    query: bytes = request.scope["query_string"]
    return Intent(
        token_id=admitted.token_id,
        method=request.method,
        path=request.path,
        key=key,
        fingerprint=hashlib.sha256(b"%d:%b%b" % (len(query), query, body_fingerprint)).digest(),
    )


async def run_once(
    intent: Intent,
    run: Callable[[], Awaitable[RestResponse]],
    *,
    body: Body | None,
    mark_attempt: Callable[..., None],
    ledger: Ledger,
) -> RestResponse:
    """
    Run *intent* unless it was completed before; then return the stored response.

    *mark_attempt* is `RequestEntry.mark_attempt` for this request.

    Raises:
        Problem: 409: the key belongs to another request, or the intent is still running.
    """
    attempt = await ledger.begin(intent)
    if isinstance(attempt, Completed):
        await _require_same_upload(attempt.response, body)
        return attempt.response.with_headers(REPLAYED_HEADER)
    if isinstance(attempt, InProgress):
        raise problem(
            Code.IDEMPOTENCY_IN_PROGRESS,
            "A request with this Idempotency-Key is still running.",
            status=409,
        )
    if isinstance(attempt, KeyReused):
        raise _key_reused()
    mark_attempt(seed=attempt.seed, maybe_sent=attempt.maybe_sent)
    try:
        response = await run()
        if body is not None:
            response = replace(response, upload_digest=body.digest)
        await _close(attempt, response, ledger)
    except BaseException:
        # The run was cut off, so its effect is unknown: the next attempt looks it up.
        await asyncio.shield(ledger.abandon(attempt))
        raise
    return response


async def _require_same_upload(stored: RestResponse, body: Body | None) -> None:
    """
    Compare a streamed body's digest with the stored one.

    When the key was looked up, only the body's length and type were known.

    Raises:
        Problem: 409: the digests differ; or as `Body.drain`.
    """
    if not stored.upload_digest or body is None:
        return
    await body.drain()
    if body.digest != stored.upload_digest:
        raise _key_reused()


def _key_reused() -> Problem:
    return problem(
        Code.IDEMPOTENCY_KEY_REUSED,
        "This Idempotency-Key was used with another request.",
        status=409,
    )


async def _close(attempt: Attempt, response: RestResponse, ledger: Ledger) -> None:
    """
    Store the response, or release the key when a retry should run again.

    401, 429 and every 5xx but 504 are released. A 504 may hide a success, so it is stored. A 500
    is a bug that may have struck after the provider accepted the call; the other statuses say
    that nothing was done (docs/spec/idempotency.md#what-is-kept).
    """
    status = response.outcome_status or response.status
    if status in {401, 429} or (status >= 500 and status != 504):
        await ledger.release(attempt, maybe_sent=attempt.maybe_sent or status == 500)
    else:
        await ledger.complete(attempt, response)
