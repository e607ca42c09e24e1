"""Calls that describe what the token in use can do; no GraphQL document answers them."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import Scope

from rest_compat import errors
from rest_compat.calls import Calls, PlainCall
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint, access

if TYPE_CHECKING:
    from graph.context import Context


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """
    A description below `/api/access`.

    Attributes:
        path: Below `/api/access`.
        render: Writes it for the token of an admitted request.
    """

    path: str
    content_type: str
    render: "Callable[[Context], Awaitable[bytes]]"


class DescriptionResponder:
    """Handler of one description, like `endpoint.Responder` of a row of the table."""

    def __init__(self, description: Description, *, calls: Calls) -> None:
        self.endpoint: Endpoint = access.get(description.path, "")
        self._description = description
        self._calls = calls

    def respond(
        self, request: RestRequest, _path: Mapping[str, str]
    ) -> Coroutine[Any, Any, RestResponse]:
        """Answer *request*; refusals are responses too."""
        return self._calls.run(PlainCall(request, self.endpoint.bucket, self._render))

    async def _render(self, context: "Context") -> RestResponse:
        body = await self._description.render(context)
        return RestResponse(status=200, body=body, content_type=self._description.content_type)

    def refuse(self, refusal: BaseException, scope: Scope) -> RestResponse:
        """Build the error response of this call."""
        return errors.refuse(refusal, request_id=self._calls.request_id(scope))
