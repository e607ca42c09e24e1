"""Handles the calls below `/api/saved` as those of the table: `endpoint.Responder`."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from msgspec.structs import replace

from graph.documents.saved_operation import SavedOperation
from policy.refusals import NotFound, Refusal
from policy.vocabulary import Code, Layer
from rest_compat import errors
from rest_compat.calls import refused_call
from rest_compat.endpoint import Responder
from rest_compat.idempotency import normal_path
from rest_compat.ledger import Intent
from rest_compat.readers import Body, BodyReader
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.saved.document import PREFIX, SavedDocument, endpoint_of
from rest_compat.saved.routes import Routes, path_values
from rest_compat.table import Endpoint, RateBucket
from rest_compat.unknown_paths import NOTHING

ROUTE = f"{PREFIX}/{{path}}"  # of all saved documents, in logs and metrics
MAX_RESPONDERS = 256  # prepared documents that a process keeps

_SEGMENTS = tuple(PREFIX.split("/")[1:])
_BUCKET = RateBucket(windows="management")


class SavedDocuments(Protocol):
    """The stored documents."""

    async def routes(self) -> Routes:
        """Return the routes as they are stored now."""

    async def prepare(self, document: SavedDocument) -> tuple[str, SavedOperation]:
        """
        Return the text of *document*, and its operation.

        Raises:
            Refusal: It was removed meanwhile, or does not fit the schema any more.
        """


@dataclass(frozen=True, kw_only=True)
class SavedResponder(Responder):
    """
    Handler of one saved document.

    Attributes:
        prepared: Its operation.
        document: Its text.
        row: The documented call with the same root field.
    """

    prepared: SavedOperation
    document: str
    row: Endpoint | None

    @cached_property
    def operation(self) -> SavedOperation:
        """The operation of the document."""
        return self.prepared

    @property
    def text(self) -> str:
        """The text of the document."""
        return self.document

    @cached_property
    def saved_name(self) -> str | None:
        """The name of the document."""
        return self.endpoint.document

    def intent(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None, **more: Any
    ) -> Intent:
        """Build the intent of the documented call, seen by another document."""
        intent, arguments = super().intent(request, path, body, **more), more["arguments"]
        if self.row is None or arguments is None:
            return intent
        view = hashlib.sha256(f"{self.endpoint.status} {self.document}".encode()).digest()
        return replace(
            intent, method=self.row.method, path=normal_path(self.row, arguments), view=view
        )


class SavedRoutes:
    """Answers the calls of saved documents; made with what all handlers share."""

    def __init__(
        self,
        documents: SavedDocuments,
        base: Responder,
        *,
        rows: Mapping[str, Endpoint],
        readers: Mapping[str, BodyReader],
    ) -> None:
        """*base* is a handler of the table, *rows* are its calls that write, by root field."""
        self._documents = documents
        self._base = base
        self._rows = rows
        self._readers = readers
        self._responders: OrderedDict[SavedDocument, SavedResponder] = OrderedDict()

    @staticmethod
    def serves(segments: tuple[str, ...]) -> bool:
        """Return whether a path is one of saved documents."""
        return segments[:2] == _SEGMENTS

    async def respond(self, request: RestRequest, segments: tuple[str, ...]) -> RestResponse:
        """Answer *request*, whose path is *segments*, by its document, or by 404 or 405."""
        state = request.scope.setdefault("state", {})
        state["route"] = ROUTE
        documents = (await self._documents.routes()).match(segments)
        document = documents.get("GET" if request.method == "HEAD" else request.method)
        if document is None:
            return await self._reject(request, documents.values())
        try:
            allowed = await self._base.calls.may_run(request.scope, _BUCKET, document.name)
        except Refusal as refusal:
            return self._refuse(request, refusal)
        if not allowed:  # before the document shows in a charge or a header
            return await self._refuse_admitted(request, _nothing(), (document,))
        try:
            responder = await self._responder(document)
        except Refusal as problem:
            return await self._refuse_admitted(request, problem, (document,))
        state["endpoint"] = responder.endpoint
        return await responder.respond(request, path_values(document, segments))

    async def _responder(self, document: SavedDocument) -> SavedResponder:
        responder = self._responders.get(document)
        if responder is None:
            text, operation = await self._documents.prepare(document)
            row = self._rows.get(operation.root_name)
            endpoint = endpoint_of(document, operation, row)
            base = self._base
            responder = SavedResponder(
                endpoint=endpoint,
                prepare=base.prepare,
                calls=base.calls,
                reader=self._readers[endpoint.body],
                strict=base.strict,
                explorer=base.explorer,
                prepared=operation,
                document=text,
                row=row,
            )
            self._responders[document] = responder
            if len(self._responders) > MAX_RESPONDERS:
                self._responders.popitem(last=False)
        else:
            self._responders.move_to_end(document)
        return responder

    async def _reject(
        self, request: RestRequest, documents: Iterable[SavedDocument]
    ) -> RestResponse:
        """Answer what no document answers, to callers with a valid token."""
        documents = tuple(documents)
        if not documents:
            return await self._refuse_admitted(request, _nothing(), ())
        message = f"This path does not allow {request.method}."
        problem = errors.problem(Code.METHOD_NOT_ALLOWED, message)
        response = await self._refuse_admitted(request, problem, documents)
        methods = {document.method for document in documents}
        allow = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        return response.with_headers(("Allow", allow)) if response.status == 405 else response

    async def _refuse_admitted(
        self, request: RestRequest, problem: Refusal, documents: Iterable[SavedDocument]
    ) -> RestResponse:
        """Answer *problem*, or 403 to a token that may run none of *documents* anyway."""
        names = [document.name for document in documents]
        return await self._base.calls.run(refused_call(request, _BUCKET, problem, documents=names))

    def _refuse(self, request: RestRequest, problem: Refusal) -> RestResponse:
        return errors.refuse(problem, request_id=self._base.calls.request_id(request.scope))


def _nothing() -> Refusal:
    return NotFound(NOTHING, layer=Layer.INPUT)
