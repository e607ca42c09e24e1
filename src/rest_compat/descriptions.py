"""Calls that describe what the token in use can do; no GraphQL document answers them."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import Scope

from rest_compat import errors
from rest_compat.calls import Call, Calls
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint, RateBucket, access

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
        return self._calls.run(_DescriptionCall(request, self.endpoint.bucket, self._description))

    def refuse(self, refusal: BaseException, scope: Scope) -> RestResponse:
        """Build the error response of this call."""
        return errors.refuse(refusal, request_id=self._calls.request_id(scope))


class _DescriptionCall(Call):
    def __init__(self, request: RestRequest, bucket: RateBucket, description: Description) -> None:
        super().__init__(request, bucket)
        self._description = description

    async def run(self, context: "Context") -> RestResponse:
        body = await self._description.render(context)
        return RestResponse(status=200, body=body, content_type=self._description.content_type)

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        return errors.refuse(refusal, request_id=request_id)
