"""
Documented calls: a row of the table binds a request to its document, and shapes the reply.

A row is a `Responder`, made once; each request makes a `RestCall` of it, which `Calls` runs in the
order of docs/spec/requests.md#order-of-checks.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from starlette.types import Scope

from graph.documents.operation import OperationResult, Variable
from graph.documents.rest_operation import RestOperation
from graph.errors import described
from policy.refusals import Refusal
from policy.vocabulary import Surface
from rest_compat import contents, errors
from rest_compat.binding import INPUT, bind, ignored_parameters
from rest_compat.body import RecordedBody
from rest_compat.calls import Call, Calls
from rest_compat.documents import OMITTED_WHEN_EMPTY, document, root_members
from rest_compat.held.stored_calls import StoredCall
from rest_compat.idempotency import make_intent, read_key
from rest_compat.ledger import KEY_HEADER, Intent
from rest_compat.preferences import (
    EFFECT_HEADER,
    NO_PREFERENCES,
    read_expected_effect,
    read_preferences,
)
from rest_compat.readers import Body, BodyReader
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint
from rest_compat.translation import to_graphql
from rest_compat.translation.to_graphql import EXPLORER

if TYPE_CHECKING:
    from graph.context import Context

_json = msgspec.json.Encoder()
_NO_VARIABLES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Responder:
    """
    One row of the table.

    Attributes:
        prepare: Parses, validates and plans the document of the row.
        reader: Reads the request body.
        strict: Whether unknown query parameters are refused, whatever token and caller ask for.
        explorer: The address of the page that opens documents.
    """

    endpoint: Endpoint
    prepare: Callable[[str], RestOperation]
    calls: Calls
    reader: BodyReader
    strict: bool = False
    explorer: str = EXPLORER

    @cached_property
    def operation(self) -> RestOperation:
        """The operation of the row's document; the first request of the row prepares it."""
        return self.prepare(self.text)

    @property
    def text(self) -> str:
        """The text of the row's document."""
        return document(self.endpoint.document)

    @cached_property
    def saved_name(self) -> str | None:
        """The name of the saved document that the call runs; None for a documented call."""
        return None

    @cached_property
    def body(self) -> Variable | None:
        """The variable that the request body fills; None when the row takes no body."""
        return next((item for item in self.operation.variables if item.name == INPUT), None)

    @cached_property
    def only_reads(self) -> bool:
        """Whether the row has neither a body nor an `Idempotency-Key`."""
        return self.endpoint.method == "GET" and self.body is None

    def respond(
        self, request: RestRequest, path: Mapping[str, str]
    ) -> Coroutine[Any, Any, RestResponse]:
        """Answer *request*, whose path parameters are *path*; refusals are responses too."""
        return self.calls.run(RestCall(self, request, path))

    def intent(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None, **more: Any
    ) -> Intent:
        """Build the intent of a call with a key; *more* as in `make_intent`."""
        return make_intent(self.endpoint, request, path, body, **more)

    def variables(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None, *, strict: bool
    ) -> dict[str, Any]:
        """
        Return the variables of the operation; *strict* refuses unknown query parameters.

        Raises:
            Refusal: 400, what was sent does not fit them.
        """
        defaults = body.parameters if body is not None else {}
        variables = bind(
            self.endpoint, self.operation, request, path, defaults=defaults, strict=strict
        )
        if body is not None:
            variables[INPUT] = body.value()
        return variables

    def shape(self, outcome: OperationResult, context: "Context") -> RestResponse:
        """Return the response to an operation that ran."""
        if outcome.errors:
            if (held := _held(outcome.causes[0])) is not None:
                return held
            return self._error(errors.of_operation(outcome.errors[0]), outcome.causes[0])
        (result,) = (outcome.data or {}).values()  # of the only root field
        for member in OMITTED_WHEN_EMPTY:  # planned documents leave them out themselves
            if isinstance(result, dict) and not result.get(member, True):
                del result[member]
        status = 202 if context.held else self.endpoint.status
        if not self.only_reads and context.effect is not None:
            return self._dry_success(result, context.effect, status)
        if status == 204:
            return RestResponse(status=204)
        headers: tuple[tuple[str, str], ...] = ()
        if context.applied_limit is not None:
            headers = (("X-Applied-Limit", str(context.applied_limit)),)
        if context.etag is not None:
            headers = (*headers, ("ETag", context.etag))
        return RestResponse(status=status, body=_json.encode(result), headers=headers)

    def _dry_success(self, result: Any, effect: Mapping[str, Any], status: int) -> RestResponse:
        """Answer a dry run: the result, `dryRun` and `effect`; 200 where the real status is 204."""
        members = {"dryRun": True, "effect": effect}
        if status == 204:
            return RestResponse(status=200, body=_json.encode({"success": True, **members}))
        head, tail = _json.encode(result), _json.encode(members)
        return RestResponse(status=status, body=b"%b,%b" % (head[:-1], tail[1:]))

    def refuse(
        self, refusal: BaseException, scope: Scope, surface: Surface | None = None
    ) -> RestResponse:
        """
        Build the error response of this endpoint, also for requests that never reached it.

        *surface* is that of the operation, which decides the status.
        """
        request_id = self.calls.request_id(scope)
        return self._error(described(refusal, surface=surface, request_id=request_id), refusal)

    def _error(self, error: Mapping[str, Any], cause: BaseException) -> RestResponse:
        return errors.error_response(
            error,
            cause,
            surface=self.endpoint.surface,
            result=self.endpoint.result,
            members=root_members(self.endpoint.document) if self.endpoint.result else (),
            codes=self.endpoint.codes,
        )

    def stored(self, request: RestRequest, variables: Mapping[str, Any]) -> StoredCall:
        """Return *request*, whose body was recorded and gave *variables*, to be made again."""
        del variables
        names = (b"content-type", b"content-length", b"if-match", b"prefer", b"accept")
        body = request.receive.chunks if isinstance(request.receive, RecordedBody) else ()
        return StoredCall(
            method=request.method,
            path=request.path.encode("latin-1"),
            query=request.scope["query_string"],
            headers=tuple(pair for pair in request.scope["headers"] if pair[0] in names),
            body=b"".join(body),
        )


def _held(problem: BaseException) -> RestResponse | None:
    """Return the response to a write that waits for a person; None: *problem* is another."""
    if not isinstance(problem, Refusal) or problem.held is None:
        return None
    return RestResponse(status=202, body=_json.encode(problem.held), hold=problem.held["id"])


class RestCall(Call):
    """A request to one row, whose path parameters are *path*."""

    def __init__(self, row: Responder, request: RestRequest, path: Mapping[str, str]) -> None:
        super().__init__(request, row.endpoint.bucket)
        stated = request.header_values("prefer")
        preferences = read_preferences(stated) if stated else NO_PREFERENCES
        if preferences.dry_run and (row.only_reads or preferences.graphql):
            preferences = replace(preferences, dry_run=False)
        self.document, self.partial_fail = row.saved_name, preferences.partial_fail
        self.is_described = preferences.graphql
        self.wait = preferences.wait
        self._row, self._path, self._preferences = row, path, preferences
        self._bound: dict[str, Any] | None = None
        self._is_admitted = False

    @property
    def operation(self) -> RestOperation:
        return self._row.operation

    async def pass_gates(self, context: "Context") -> None:
        """
        Check the gates.

        When the body decides which of several operations the call needs, and the body can be
        read, the refusal names that operation.
        """
        self._is_admitted = True
        if not self._row.only_reads and not self.is_described:
            # Before the gates, so that the decision log marks a refused dry run as one.
            context.ask_for_effect(dry_run=self._preferences.dry_run, expected=None)
        try:
            self.operation.check_gates(context, _NO_VARIABLES)
        except Refusal as refusal:
            if not self.operation.refusal_depends_on_input:
                raise
            try:
                variables = await self._bind(strict=False)
            except Refusal:
                raise refusal from None
            self.operation.check_gates(context, variables)
            raise

    def read_terms(self, context: "Context") -> str | None:
        if self._row.only_reads or self.is_described:
            return None
        expected = read_expected_effect(self.request.header_values(EFFECT_HEADER))
        context.ask_for_effect(dry_run=self._preferences.dry_run, expected=expected)
        if self._row.endpoint.method != "POST":
            return None
        return read_key(self.request.header_values(KEY_HEADER))

    async def intent(self, key: str, context: "Context") -> Intent:
        await self._receive()
        try:
            self._bound = await self._bind(strict=False)
        except Refusal:
            root = None
        else:
            root = self.operation.root_call(self._bound)
        return self._row.intent(
            self.request,
            self._path,
            self.body,
            token_id=context.caller.token_id,
            key=key,
            arguments=root[1] if root is not None else None,
            expected=context.expected_effect,
        )

    async def run(self, context: "Context") -> RestResponse:
        variables, strict = self._bound, self._is_strict(context)
        if variables is None or (strict and self._ignored() is not None):
            variables = self._bound = await self._bind(strict=strict)
        row = self._row
        if self.is_described:
            shown = await to_graphql.describe(
                row.text, row.operation, variables, explorer=row.explorer
            )
            return RestResponse(status=200, body=shown)
        outcome = await row.operation.run(variables, context)
        if self.body is not None and self.body.read_error is not None:
            raise self.body.read_error
        if row.endpoint.streams and not outcome.errors:
            return await contents.respond(self.request, row.calls.open_content(context))
        return row.shape(outcome, context)

    def stored(self) -> StoredCall:
        return self._row.stored(self.request, self._bound or {})

    async def _receive(self) -> None:
        variable = self._row.body
        if variable is not None and self.body is None:
            self.body = await self._row.reader.receive(self.request, variable)

    async def _bind(self, *, strict: bool) -> dict[str, Any]:
        """
        Return the variables; *strict* refuses unknown query parameters.

        Raises:
            Refusal: What was sent does not fit them.
        """
        await self._receive()
        return self._row.variables(self.request, self._path, self.body, strict=strict)

    def _is_strict(self, context: "Context") -> bool:
        """Return whether unknown query parameters are refused."""
        stated, grant = self._preferences, context.caller.grant
        asked = stated.strict or (grant.strict_parameters and not stated.lenient)
        return self._row.strict or asked

    def _ignored(self) -> str | None:
        """Return the unknown names of the query, as a header names them; None without any."""
        if not self.request.scope["query_string"]:
            return None
        return ignored_parameters(self._row.endpoint, self.operation, self.request, self._path)

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        del request_id
        if (held := _held(refusal)) is not None:
            return held
        surface = self.operation.surface if self._is_admitted else None
        return self._row.refuse(refusal, self.request.scope, surface)

    def finish(self, reply: RestResponse, context: "Context | None") -> RestResponse:
        """Return *reply* with headers that name ignored parameters and applied preferences."""
        ignored = None
        if context is not None and not self._is_strict(context):
            ignored = self._ignored()
        if ignored is not None:
            reply = reply.with_headers(("X-Ignored-Parameters", ignored))
        applied = self._preferences
        if applied.wait and (context is None or not context.has_waited):
            applied = replace(applied, wait=0)
        return reply.with_headers(*applied.applied)
