"""JSON responses with OData annotations, and the error response of Microsoft Graph."""

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
    An error response of Microsoft Graph.

    Attributes:
        inner: Members of `innerError` besides the request's ids.
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
    """Return the error for a well-formed but unknown id."""
    return GraphError(404, "ErrorItemNotFound", NOT_FOUND_TEXT)


def malformed_id() -> GraphError:
    """Return the error for a malformed id."""
    return GraphError(400, "ErrorInvalidIdMalformed", "Id is malformed.")


def access_denied() -> GraphError:
    """Return the error for a token without the permission."""
    return GraphError(
        403, "ErrorAccessDenied", "Access is denied. Check credentials and try again."
    )


def to_graph_error(error: QueryError, *, code: str) -> GraphError:
    """Convert the error of a query option; *code* is the default code of the workload."""
    return GraphError(400, error.code or code, error.message)


def ok(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Build a JSON response."""
    try:
        return json_response(content, status, headers, kind=CONTENT_TYPE)
    except TypeError:  # a lone surrogate, from mail in a broken character set
        return json_response(_writable(content), status, headers, kind=CONTENT_TYPE)


def empty(status: int) -> Response:
    """Build a response without a body (202, 204)."""
    return Response(status=status)


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {name: _writable(item) for name, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list) else value


def error_response(error: GraphError, request: Request) -> Response:
    """Build an error response, with the request's ids."""
    request_id = str(uuid.uuid4())
    inner = {
        **error.inner,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "request-id": request_id,
        "client-request-id": request.headers.get("client-request-id", request_id),
    }
    body = {"error": {"code": error.code, "message": error.message, "innerError": inner}}
    return ok(body, error.status, {"request-id": request_id, **error.headers})
