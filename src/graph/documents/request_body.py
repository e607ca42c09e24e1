"""The body of POST /graphql, read strictly: an object, no batch, no surrogates, no NaN."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from graph.documents.cost_limits import MAX_BYTES, MAX_BYTES_WITH_FILES
from policy.refusals import Conflict, InvalidInput
from policy.vocabulary import Code

# The bytes of an attachment in the variables: one string, whatever its length.
_FILE = re.compile(rb'("contentBase64"\s*:\s*")[A-Za-z0-9+/=]*"')

# With the prefix of the draft of GraphQL over HTTP, "Persisted documents", or without it.
_DOCUMENT_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


class GraphQLRequest(msgspec.Struct, frozen=True):
    """The body of a request."""

    query: str
    variables: dict[str, Any]
    operation: str | None
    dry_run: bool
    expected_effect: str | None
    document_id: str | None = None


def read_request(body: bytes, *, with_id: bool = False) -> GraphQLRequest:
    """
    Read the JSON body strictly: an object, no batch, no surrogates, no NaN.

    *with_id* accepts a `documentId` instead of the query, which is empty then.

    Raises:
        Refusal: The body is too large, or not of this shape.
    """
    if is_too_large(body):
        message = f"The request body is larger than {MAX_BYTES} bytes."
        raise Conflict(message, code=Code.PAYLOAD_TOO_LARGE)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _invalid_body("The body is not JSON.") from None
    if isinstance(content, list):
        raise _invalid_body("Batches are not supported: send one operation per request.")
    document_id = _read_id(content) if with_id and isinstance(content, dict) else None
    query = content.get("query") if isinstance(content, dict) else None
    if document_id is not None and query is None:
        query = ""
    if not isinstance(query, str) or (query and document_id is not None):
        choice = "a query, or a documentId instead" if with_id else "a query"
        raise _invalid_body(f"The body must be an object with {choice}.")
    variables, operation = content.get("variables"), content.get("operationName")
    if not isinstance(variables, dict | None):
        raise _invalid_body("variables must be an object.")
    if not isinstance(operation, str | None):
        raise _invalid_body("operationName must be a string.")
    dry_run, expected_effect = _read_extensions(content.get("extensions"))
    return GraphQLRequest(
        query, variables or {}, operation or None, dry_run, expected_effect, document_id
    )


def _read_id(content: Mapping[str, object]) -> str | None:
    """Return the SHA-256 in `documentId`; it may have the prefix that names the algorithm."""
    document_id = content.get("documentId")
    if document_id is None:
        return None
    match = _DOCUMENT_ID.fullmatch(document_id) if isinstance(document_id, str) else None
    if match is None:
        raise _invalid_body("documentId must be a SHA-256 as 64 hexadecimal digits.")
    return match[1]


def _read_extensions(extensions: object) -> tuple[bool, str | None]:
    """Return `dryRun` and `ifEffect`; other extensions are ignored."""
    if not isinstance(extensions, dict | None):
        raise _invalid_body("extensions must be an object.")
    members = extensions or {}
    dry_run, expected_effect = members.get("dryRun"), members.get("ifEffect")
    if not isinstance(dry_run, bool | None):
        raise _invalid_body("extensions.dryRun must be true or false.")
    if not isinstance(expected_effect, str | None):
        raise _invalid_body("extensions.ifEffect must be a string.")
    return bool(dry_run), expected_effect


def is_too_large(body: bytes) -> bool:
    """Return whether a body exceeds its size; bytes of attachments count by a size of their own."""
    if len(body) <= MAX_BYTES:
        return False
    return len(body) > MAX_BYTES_WITH_FILES or len(_FILE.sub(rb'\1"', body)) > MAX_BYTES


def _invalid_body(message: str) -> InvalidInput:
    return InvalidInput(message, code=Code.VALIDATION_ERROR)
