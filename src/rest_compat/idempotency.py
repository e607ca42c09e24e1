"""
Runs a POST once per `Idempotency-Key` and replays its response (docs/spec/idempotency.md).

The key is scoped to the token and to the row of the table with its decoded path parameters, also
for a mutation of `POST /graphql`. Authentication and gates run before this module, for replays too.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import structs

from graph import kept_results
from policy.refusals import Refusal
from policy.vocabulary import Code
from rest_compat.binding import INPUT
from rest_compat.errors import problem
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused, Ledger
from rest_compat.ports import RequestEntry
from rest_compat.readers import Body
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint

if TYPE_CHECKING:
    from graph.context import Context

REPLAYED_HEADER = ("Idempotent-Replayed", "true")

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def read_key(values: Sequence[str]) -> str | None:
    """
    Read the key from the header's values, or None when no key was sent.

    Raises:
        Refusal: 400 `INVALID_PARAMETER`: two keys, or not 1 to 255 visible ASCII characters.
    """
    if not values:
        return None
    if len(values) > 1 or not _KEY.fullmatch(values[0]):
        reason = "must be one value of 1 to 255 visible ASCII characters"
        raise problem(
            Code.INVALID_PARAMETER,
            f"Idempotency-Key {reason}.",
            details=[("Idempotency-Key", f"It {reason}.")],
        )
    return values[0]


def make_intent(  # noqa: PLR0913 - what an intent has
    endpoint: Endpoint,
    request: RestRequest,
    path: Mapping[str, str],
    body: Body | None,
    *,
    token_id: int,
    key: str,
    arguments: Mapping[str, Any] | None,
    expected: str | None = None,
) -> Intent:
    """
    Build the intent of *request* to *endpoint*.

    *path* are the decoded path parameters, *arguments* those of the root field; None when query
    or body do not fit them, and then their bytes count. *expected* is as in `fingerprint`.
    """
    query: bytes = request.scope["query_string"]
    sent = b"%d:%b%b" % (len(query), query, body.fingerprint if body is not None else b"")
    return Intent(
        token_id=token_id,
        method=request.method,
        path=normal_path(endpoint, path),
        key=key,
        fingerprint=fingerprint(arguments, sent, expected=expected),
        former_path=request.path,
        former_fingerprint=hashlib.sha256(sent).digest(),
    )


def normal_path(endpoint: Endpoint, parameters: Mapping[str, Any]) -> str:
    """
    Return the path of *endpoint* with its parameters, the same for every spelling and mount.

    Some ids ignore letter case, so all do here: one key for two ids that differ in case alone is
    refused as reused.
    """
    segments = endpoint.path.removeprefix(endpoint.bucket.mount).split("/")
    return "/".join(
        quote(str(parameters[segment[1:-1]]).strip().casefold(), safe=":,!=")
        if segment.startswith("{")
        else segment
        for segment in segments
    )


def fingerprint(
    arguments: Mapping[str, Any] | None, sent: bytes, *, expected: str | None = None
) -> bytes:
    """
    Return SHA-256 over *arguments*, the same for every order and spelling.

    Null counts as absent among the arguments and the members of the body. Without arguments,
    because they were invalid, the bytes *sent* count. *expected* is the digest in `If-Effect`.
    """
    if expected is not None:
        unconditional = fingerprint(arguments, sent)
        return hashlib.sha256(b"effect:%b:%b" % (expected.encode(), unconditional)).digest()
    if arguments is None:
        return hashlib.sha256(b"invalid:" + sent).digest()
    stated = _stated(arguments)
    if isinstance(stated.get(INPUT), Mapping):
        stated[INPUT] = _stated(stated[INPUT])
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=_plain).encode()).digest()


def _stated(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _plain(value: Any) -> str:
    """Write a value that JSON does not have; a streamed body counts by what is known of it."""
    known = getattr(value, "fingerprint", None)
    return known.decode() if isinstance(known, bytes) else str(value)


async def run_once(  # noqa: PLR0913 - what a run has
    intent: Intent,
    run: Callable[[], Awaitable[RestResponse]],
    *,
    body: Body | None,
    context: "Context",
    entry: RequestEntry,
    ledger: Ledger,
) -> RestResponse:
    """
    Run *intent* unless it was completed before; then return the stored response.

    When that response would show more than the token may see now, or has another form, the intent
    runs again with the kept result of the earlier run, and changes nothing.

    Raises:
        Refusal: 409: the key belongs to another request, or the intent is still running.
    """
    view = hashlib.sha256(intent.view + context.visibility).digest()
    attempt = await ledger.begin(intent)
    if isinstance(attempt, Completed):
        stored = attempt.response
        await _require_same_upload(stored, body)
        if stored.view != view and stored.kept_result:
            context.repeated = kept_results.decode(stored.kept_result)
            stored = await run()
        return stored.with_headers(REPLAYED_HEADER)
    if isinstance(attempt, InProgress):
        raise problem(
            Code.IDEMPOTENCY_IN_PROGRESS, "A request with this Idempotency-Key is still running."
        )
    if isinstance(attempt, KeyReused):
        raise _key_reused()
    try:
        with entry.attempt(context, attempt, ledger):
            response = structs.replace(await run(), view=view, kept_result=context.kept_result)
        if body is not None:
            response = structs.replace(response, upload_digest=body.digest)
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
        Refusal: 409: the digests differ; or as `Body.drain`.
    """
    if not stored.upload_digest or body is None:
        return
    await body.drain()
    if body.digest != stored.upload_digest:
        raise _key_reused()


def _key_reused() -> Refusal:
    return problem(
        Code.IDEMPOTENCY_KEY_REUSED, "This Idempotency-Key was used with another request."
    )


async def _close(attempt: Attempt, response: RestResponse, ledger: Ledger) -> None:
    """
    Store the response, or release the key when a retry should run again.

    401, 428, 429 and every 5xx but 504 are released: a 428 shows an effect, which is never stored,
    and nothing was done. A 504 may hide a success, so it is stored. A 500
    is a bug that may have struck after the provider accepted the call; the other statuses say
    that nothing was done (docs/spec/idempotency.md#what-is-kept).
    """
    status = response.outcome_status or response.status
    if status in {401, 428, 429} or (status >= 500 and status != 504):
        await ledger.release(attempt, maybe_sent=attempt.maybe_sent or status == 500)
    else:
        await ledger.complete(attempt, response)
