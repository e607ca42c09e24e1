"""
The scope and the fingerprint of an `Idempotency-Key` (docs/spec/idempotency.md).

The key is scoped to the token and to the row of the table with its decoded path parameters, also
for a mutation of `POST /graphql`.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from policy.vocabulary import Code
from rest_compat.binding import INPUT
from rest_compat.errors import problem
from rest_compat.ledger import Intent
from rest_compat.readers import Body
from rest_compat.request import RestRequest
from rest_compat.table import Endpoint

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
