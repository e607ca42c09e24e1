"""
`GET /api/access/graphql-of`: the document of a call that is named by its method and its path.

It answers what the call itself answers with `Prefer: graphql`.
"""

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

from starlette.types import Message, Scope

from policy.refusals import Refusal
from policy.vocabulary import not_known
from rest_compat import errors
from rest_compat.calls import Calls, refused_call
from rest_compat.request import RestRequest, invalid_parameter, path_segments
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint, access

_PREFIXES = (("api", "access"), ("api", "saved"), ("internal", "api", "access"))
_METHODS = ("GET", "POST", "PATCH", "DELETE")
_OWN_PATH = "/graphql-of"


class GraphqlOfResponder:
    """Passes the named call to *answer* with `Prefer: graphql`."""

    endpoint: Endpoint = access.get(_OWN_PATH, "")

    def __init__(
        self, answer: Callable[[RestRequest], Awaitable[RestResponse]], *, calls: Calls
    ) -> None:
        self._answer = answer
        self._calls = calls

    async def respond(self, request: RestRequest, _path: Mapping[str, str]) -> RestResponse:
        """Answer *request*; the named call authenticates and charges it."""
        try:
            named = _named_call(request)
        except Refusal as refusal:
            bucket = self.endpoint.bucket
            return await self._calls.run(refused_call(request, bucket, refusal, documents=()))
        return await self._answer(named)

    def refuse(self, refusal: BaseException, scope: Scope) -> RestResponse:
        """Build the error response of this call."""
        return errors.refuse(refusal, request_id=self._calls.request_id(scope))


def _named_call(request: RestRequest) -> RestRequest:
    """
    Return the call that the parameters `method`, `path` and `body` name.

    Raises:
        Refusal: 400, they name no call below /api/access.
    """
    for name, values in request.query.items():
        if name not in {"method", "path", "body"}:
            raise invalid_parameter(name, not_known(("body", "method", "path")))
        if len(values) > 1:
            raise invalid_parameter(name, "is given more than once")
    method = request.query.get("method", ("GET",))[0].upper()
    path, _, query = request.query.get("path", ("",))[0].partition("?")
    if method not in _METHODS:
        raise invalid_parameter("method", f"must be one of {', '.join(_METHODS)}")
    if not f"{path}{query}".isascii():
        raise invalid_parameter("path", "must be percent-encoded")
    if not _is_path_of_call(path):
        known = "/api/access/ or /api/saved/"
        raise invalid_parameter("path", f"must be the path of a call below {known}")
    body = request.query.get("body", ("",))[0].encode()
    passed_on = [
        (name, value)
        for name, value in request.scope["headers"]
        if name not in {b"prefer", b"content-length", b"content-type"}
    ]
    own = [
        (b"prefer", b"graphql"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    scope = {
        **request.scope,
        "method": method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [*passed_on, *own],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return RestRequest(scope, receive)


def _is_path_of_call(path: str) -> bool:
    """Return whether a path is below a prefix and not this call's own, however it is encoded."""
    if not path.startswith("/"):
        return False
    segments = path_segments({"raw_path": path.encode()})
    if segments == path_segments({"raw_path": GraphqlOfResponder.endpoint.path.encode()}):
        return False
    return any(
        len(segments) > len(prefix) and segments[: len(prefix)] == prefix for prefix in _PREFIXES
    )
