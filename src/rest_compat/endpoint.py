"""
Handles one documented call, from request to response.

The order of checks is fixed: address, token and quota, then the gates of the operation, then
parameters and body, then the graph (docs/spec/requests.md#order-of-checks). A POST with an
`Idempotency-Key` runs once.
"""

from collections.abc import Callable, Mapping
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
from rest_compat import contents, errors, ports
from rest_compat.binding import INPUT, bind, ignored_parameters
from rest_compat.documents import OMITTED_WHEN_EMPTY, document, root_members
from rest_compat.idempotency import make_intent, read_key, run_once
from rest_compat.ledger import KEY_HEADER, Intent, Ledger
from rest_compat.preferences import (
    EFFECT_HEADER,
    NO_PREFERENCES,
    Preferences,
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
    Handler of one row of the table.

    Attributes:
        prepare: Parses, validates and plans the document of the row.
        reader: Reads the request body.
        observer: Called when an admitted call is over.
        strict: Whether unknown query parameters are refused, whatever token and caller ask for.
        explorer: The address of the page that opens documents.
    """

    endpoint: Endpoint
    prepare: Callable[[str], RestOperation]
    entry: ports.RequestEntry
    ledger: Ledger
    reader: BodyReader
    observer: ports.CallObserver | None = None
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
    def _only_reads(self) -> bool:
        """Whether the row has neither a body nor an `Idempotency-Key`."""
        return self.endpoint.method == "GET" and self.body is None

    async def respond(self, request: RestRequest, path: Mapping[str, str]) -> RestResponse:
        """Answer *request*, whose path parameters are *path*; refusals are responses too."""
        stated = request.header_values("prefer")
        preferences = read_preferences(stated) if stated else NO_PREFERENCES
        if preferences.dry_run and (self._only_reads or preferences.graphql):
            preferences = replace(preferences, dry_run=False)
        try:
            context = await self.entry.admit(
                request.scope,
                self.endpoint.bucket,
                partial_fail=preferences.partial_fail,
                document=self.saved_name,
            )
        except Refusal as refusal:
            return self.refuse(refusal, request.scope).with_headers(*preferences.applied)
        response: RestResponse | None = None
        failure: BaseException | None = None
        try:
            response = await self._answer(request, path, context, preferences)
        except Refusal as refusal:
            response = self.refuse(refusal, request.scope, self.operation.surface)
        except BaseException as bug:
            failure = bug
            raise
        finally:
            if self.observer is not None:
                ran = response is None or response.errors or not preferences.graphql
                self.observer(context, self.operation if ran else None, response, failure)
            failure = None  # its traceback holds this frame, and so the body
        if stated or request.scope["query_string"]:
            strict = self._is_strict(preferences, context)
            return self._noted(response, request, path, preferences, strict=strict)
        return response

    async def _answer(
        self,
        request: RestRequest,
        path: Mapping[str, str],
        context: "Context",
        preferences: Preferences,
    ) -> RestResponse:
        """
        Check the gates, then bind, run and shape the call.

        Raises:
            Refusal: It is refused before its operation runs.
        """
        if preferences.graphql:
            await self._check_gates(request, path, context)
            strict = self._is_strict(preferences, context)
            return await self._translate(request, path, strict=strict)
        if self._only_reads:
            self.operation.check_gates(context, _NO_VARIABLES)
            strict = self._is_strict(preferences, context)
            variables = self.variables(request, path, None, strict=strict)
            outcome = await self.operation.run(variables, context)
            if self.endpoint.streams and not outcome.errors:
                return await contents.respond(request, self.entry.open_content(context))
            return self._shape(outcome, context)
        # Before the gates, so that the decision log marks a refused dry run as one.
        context.ask_for_effect(dry_run=preferences.dry_run, expected=None)
        await self._check_gates(request, path, context)
        expected = read_expected_effect(request.header_values(EFFECT_HEADER))
        context.ask_for_effect(dry_run=preferences.dry_run, expected=expected)
        return await self._run_idempotently(request, path, context, preferences)

    def _is_strict(self, preferences: Preferences, context: "Context") -> bool:
        """Return whether unknown query parameters are refused."""
        asked = preferences.strict or (
            context.caller.grant.strict_parameters and not preferences.lenient
        )
        return self.strict or asked

    def _noted(
        self,
        response: RestResponse,
        request: RestRequest,
        path: Mapping[str, str],
        preferences: Preferences,
        *,
        strict: bool,
    ) -> RestResponse:
        """Return *response* with headers that name ignored parameters and applied preferences."""
        ignored = None if strict else self._ignored(request, path)
        if ignored is not None:
            response = response.with_headers(("X-Ignored-Parameters", ignored))
        return response.with_headers(*preferences.applied)

    def _ignored(self, request: RestRequest, path: Mapping[str, str]) -> str | None:
        """Return the unknown names of the query, as a header names them; None without any."""
        if not request.scope["query_string"]:
            return None
        return ignored_parameters(self.endpoint, self.operation, request, path)

    async def _check_gates(
        self, request: RestRequest, path: Mapping[str, str], context: "Context"
    ) -> None:
        """
        Run the gates that need no parameters.

        Raises:
            Refusal: A gate refuses. When the body decides which of several operations the call
                needs, and the body can be read, the refusal names that operation.
        """
        try:
            self.operation.check_gates(context, _NO_VARIABLES)
        except Refusal as refusal:
            if not self.operation.refusal_depends_on_input:
                raise
            try:
                body = None if self.body is None else await self.reader.receive(request, self.body)
                variables = self.variables(request, path, body, strict=False)
            except Refusal:
                raise refusal from None
            self.operation.check_gates(context, variables)
            raise

    async def _translate(
        self, request: RestRequest, path: Mapping[str, str], *, strict: bool
    ) -> RestResponse:
        """Describe the call as a document; see `translation.to_graphql`."""
        body = None if self.body is None else await self.reader.receive(request, self.body)
        variables = self.variables(request, path, body, strict=strict)
        described = await to_graphql.describe(
            self.text, self.operation, variables, explorer=self.explorer
        )
        return RestResponse(status=200, body=described)

    async def _run_idempotently(
        self,
        request: RestRequest,
        path: Mapping[str, str],
        context: "Context",
        preferences: Preferences,
    ) -> RestResponse:
        """Run the call through the ledger when it has a key, directly otherwise."""
        key = None
        if self.endpoint.method == "POST":
            key = read_key(request.header_values(KEY_HEADER))
        body = None
        if self.body is not None:
            body = await self.reader.receive(request, self.body)
        strict = self._is_strict(preferences, context)
        if key is None or context.stops_before_write:
            variables = self.variables(request, path, body, strict=strict)
            return await self._run(variables, context, body)
        bound = self._bind(request, path, body)

        async def run() -> RestResponse:
            try:
                is_refused = strict and self._ignored(request, path) is not None
                if bound is None or is_refused:
                    self.variables(request, path, body, strict=strict)  # says why
                return await self._run(bound or {}, context, body)
            except Refusal as refusal:
                return self.refuse(refusal, request.scope, self.operation.surface)

        root = self.operation.root_call(bound) if bound is not None else None
        intent = self.intent(
            request,
            path,
            body,
            token_id=context.caller.token_id,
            key=key,
            arguments=root[1] if root is not None else None,
            expected=context.expected_effect,
        )
        return await run_once(
            intent, run, body=body, context=context, entry=self.entry, ledger=self.ledger
        )

    def _bind(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None
    ) -> dict[str, Any] | None:
        """Return the variables, whatever unknown parameters there are; None: they do not fit."""
        try:
            return self.variables(request, path, body, strict=False)
        except Refusal:
            return None

    def intent(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None, **more: Any
    ) -> Intent:
        """Build the intent of a call with a key; *more* as in `make_intent`."""
        return make_intent(self.endpoint, request, path, body, **more)

    async def _run(
        self, variables: Mapping[str, Any], context: "Context", body: Body | None
    ) -> RestResponse:
        """Run the operation, shape its result."""
        outcome = await self.operation.run(variables, context)
        if body is not None and body.read_error is not None:
            raise body.read_error
        return self._shape(outcome, context)

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

    def _shape(self, outcome: OperationResult, context: "Context") -> RestResponse:
        """Return the response to an operation that ran."""
        if outcome.errors:
            return self._error(errors.of_operation(outcome.errors[0]), outcome.causes[0])
        (result,) = (outcome.data or {}).values()  # of the only root field
        for member in OMITTED_WHEN_EMPTY:  # planned documents leave them out themselves
            if isinstance(result, dict) and not result.get(member, True):
                del result[member]
        status = 202 if context.held else self.endpoint.status
        if not self._only_reads and context.effect is not None:
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
        request_id = self.entry.request_id(scope)
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
