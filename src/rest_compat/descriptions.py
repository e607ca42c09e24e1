"""Calls that describe what the token in use can do; no GraphQL document answers them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from starlette.types import Scope

from policy.refusals import Refusal
from rest_compat import errors
from rest_compat.ports import CallObserver, RequestEntry
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

    def __init__(
        self, description: Description, *, entry: RequestEntry, observer: CallObserver | None = None
    ) -> None:
        self.endpoint: Endpoint = access.get(description.path, "")
        self._description = description
        self._entry = entry
        self._observer = observer

    async def respond(self, request: RestRequest, _path: Mapping[str, str]) -> RestResponse:
        """Answer *request*; refusals are responses too."""
        try:
            context = await self._entry.admit(
                request.scope, self.endpoint.bucket, partial_fail=False
            )
        except Refusal as refusal:
            return self.refuse(refusal, request.scope)
        response = RestResponse(
            status=200,
            body=await self._description.render(context),
            content_type=self._description.content_type,
        )
        if self._observer is not None:
            self._observer(context, None, response, None)
        return response

    def refuse(self, refusal: BaseException, scope: Scope) -> RestResponse:
        """Build the error response of this call."""
        return errors.refuse(refusal, request_id=self._entry.request_id(scope))
