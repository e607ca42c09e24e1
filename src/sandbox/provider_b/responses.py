"""
How the wire answers: JSON with OData annotations, and the one shape of all errors.

Source: wire report 2.2.
"""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sandbox.http import Request, Response, json_response
from sandbox.provider_b.odata.schema import QueryError

CONTENT_TYPE = "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8"  # noqa: E501 - one header value
NOT_FOUND_TEXT = "The specified object was not found in the store."


class GraphError(Exception):
    """
    An error answer: status, code word and message, as upstream words them.

    Attributes:
        inner: What `innerError` says besides the request's ids: finer code words.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        inner: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})
        self.inner = dict(inner or {})


def not_found() -> GraphError:
    """An id of the right form that names nothing."""
    return GraphError(404, "ErrorItemNotFound", NOT_FOUND_TEXT)


def malformed_id() -> GraphError:
    """An id that no item could have."""
    return GraphError(400, "ErrorInvalidIdMalformed", "Id is malformed.")


def access_denied() -> GraphError:
    """The token lacks the permission."""
    return GraphError(
        403, "ErrorAccessDenied", "Access is denied. Check credentials and try again."
    )


def to_graph_error(error: QueryError, *, code: str) -> GraphError:
    """Turn a refused query option into an answer; *code* is the workload's own word for it."""
    return GraphError(400, error.code or code, error.message)


def ok(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with a JSON record."""
    try:
        return json_response(content, status, headers, kind=CONTENT_TYPE)
    except TypeError:  # a lone surrogate, out of a letter in an odd character set
        return json_response(_writable(content), status, headers, kind=CONTENT_TYPE)


def empty(status: int) -> Response:
    """Answer without a body (202, 204)."""
    return Response(status=status)


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _writable(item) for name, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list) else value


def error_response(error: GraphError, request: Request) -> Response:
    """Write an error body, with the request's ids in it."""
    request_id = str(uuid.uuid4())
    inner = {
        **error.inner,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "request-id": request_id,
        "client-request-id": request.headers.get("client-request-id", request_id),
    }
    body = {
        "error": {"code": error.code, "message": error.message, "innerError": inner},
    }
    return ok(body, error.status, {"request-id": request_id, **error.headers})
