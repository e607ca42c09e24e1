"""
Handles one documented call, from request to response.

The order of checks is fixed: address, token and quota, then the gates of the operation, then
parameters and body, then the graph (docs/spec/requests.md#order-of-checks). A POST with an
`Idempotency-Key` runs once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from starlette.types import Scope

from rest_compat import contents, errors, ports
from rest_compat.binding import INPUT, bind, ignored_parameters
from rest_compat.documents import document, root_members
from rest_compat.idempotency import make_intent, read_key, run_once
from rest_compat.ledger import KEY_HEADER, Ledger
from rest_compat.preferences import Preferences, read_preferences
from rest_compat.readers import Body, BodyReader
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint

# Members of a response that are left out when empty
# (docs/spec/requests.md#access-info-and-warnings). Planned documents leave them out themselves;
# this list is for what the graph answered without a plan.
OMITTED_WHEN_EMPTY = ("accessInfo", "authWarnings")

_json = msgspec.json.Encoder()


@dataclass(frozen=True, kw_only=True)
class Responder:
    """
    Handler of one row of the table.

    Attributes:
        graph: Prepares the document of the row.
        reader: Reads the request body.
        observer: Called when an admitted call is over.
        strict: Whether unknown query parameters are refused without being asked to.
    """

    endpoint: Endpoint
    graph: ports.Graph
    entry: ports.RequestEntry
    ledger: Ledger
    reader: BodyReader
    observer: ports.CallObserver | None = None
    strict: bool = False

    @cached_property
    def operation(self) -> ports.Operation:
        """The operation of the row's document; the first request of the row prepares it."""
        return self.graph.prepare(document(self.endpoint.document))

    @cached_property
    def body(self) -> ports.Variable | None:
        """The variable that the request body fills; None when the row takes no body."""
        return next((item for item in self.operation.variables if item.name == INPUT), None)

    async def respond(self, request: RestRequest, path: Mapping[str, str]) -> RestResponse:
        """Answer *request*, whose path parameters are *path*; refusals are responses too."""
        preferences = read_preferences(request.headers.get("prefer", ()))
        try:
            admitted = await self.entry.admit(
                request.scope, self.endpoint.bucket, partial_fail=preferences.partial_fail
            )
        except ports.Problem as problem:
            return self.refuse(problem, request.scope).with_headers(*preferences.applied)
        response: RestResponse | None = None
        failure: BaseException | None = None
        try:
            await self._check_gates(request, path, admitted)
            response = await self._run_idempotently(request, path, admitted, preferences)
        except ports.Problem as problem:
            response, failure = self.refuse(problem, request.scope), problem
        except BaseException as bug:
            failure = bug
            raise
        finally:
            if self.observer is not None:
                self.observer(admitted, self.operation, response, failure)
            failure = None  # its traceback holds this frame, and so the body
        ignored = None
        if not (self.strict or preferences.strict):
            ignored = ignored_parameters(self.endpoint, self.operation, request, path)
        if ignored is not None:
            response = response.with_headers(("X-Ignored-Parameters", ignored))
        return response.with_headers(*preferences.applied)

    async def _check_gates(
        self, request: RestRequest, path: Mapping[str, str], admitted: ports.AdmittedRequest
    ) -> None:
        """
        Run the gates that need no parameters.

        Raises:
            Problem: A gate refuses. When the body decides which of several operations the call
                needs, and the body can be read, the refusal names that operation.
        """
        try:
            self.entry.check_gates(self.operation, admitted, {})
        except ports.Problem as refusal:
            if self.body is None or not self.operation.refusal_depends_on_input:
                raise
            try:
                body = await self.reader.receive(request, self.body)
                variables = self._variables(request, path, body, strict=False)
            except ports.Problem:
                raise refusal from None
            self.entry.check_gates(self.operation, admitted, variables)
            raise

    async def _run_idempotently(
        self,
        request: RestRequest,
        path: Mapping[str, str],
        admitted: ports.AdmittedRequest,
        preferences: Preferences,
    ) -> RestResponse:
        """Run the call through the ledger when it has a key, directly otherwise."""
        key = None
        if self.endpoint.method == "POST":
            key = read_key(request.headers.get(KEY_HEADER, ()))
        body = None
        if self.body is not None:
            body = await self.reader.receive(request, self.body)
        if key is None:
            return await self._run(request, path, admitted, preferences, body)

        async def run() -> RestResponse:
            try:
                return await self._run(request, path, admitted, preferences, body)
            except ports.Problem as problem:
                return self.refuse(problem, request.scope)

        intent = make_intent(
            self.endpoint,
            request,
            path,
            body,
            token_id=admitted.token_id,
            key=key,
            arguments=self._arguments(request, path, body),
        )
        return await run_once(
            intent, run, body=body, admitted=admitted, entry=self.entry, ledger=self.ledger
        )

    def _arguments(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None
    ) -> Mapping[str, Any] | None:
        """Return the arguments of the root field; None when query or body do not fit them."""
        try:
            variables = self._variables(request, path, body, strict=False)
        except ports.Problem:
            return None
        root = self.operation.root_call(variables)
        return root[1] if root is not None else None

    async def _run(
        self,
        request: RestRequest,
        path: Mapping[str, str],
        admitted: ports.AdmittedRequest,
        preferences: Preferences,
        body: Body | None,
    ) -> RestResponse:
        """Bind the variables, run the operation, shape its result."""
        strict = self.strict or preferences.strict
        variables = self._variables(request, path, body, strict=strict)
        outcome = await self.operation.run(variables, admitted.context)
        if body is not None and body.read_error is not None:
            raise body.read_error
        if outcome.errors:
            raise errors.problem_from_graphql(outcome.errors[0])
        if self.endpoint.streams:
            return await contents.respond(request, self.entry.open_content(admitted))
        return self._success(outcome.data or {}, admitted)

    def _variables(
        self, request: RestRequest, path: Mapping[str, str], body: Body | None, *, strict: bool
    ) -> dict[str, Any]:
        defaults = body.parameters if body is not None else {}
        variables = bind(
            self.endpoint, self.operation, request, path, defaults=defaults, strict=strict
        )
        if body is not None:
            variables[INPUT] = body.value()
        return variables

    def _success(self, data: Mapping[str, Any], admitted: ports.AdmittedRequest) -> RestResponse:
        if self.endpoint.status == 204:
            return RestResponse(status=204)
        result = data["result"]
        for member in OMITTED_WHEN_EMPTY:
            if isinstance(result, dict) and not result.get(member, True):
                del result[member]
        headers: tuple[tuple[str, str], ...] = ()
        notes = self.entry.notes(admitted)
        if notes.applied_limit is not None:
            headers = (("X-Applied-Limit", str(notes.applied_limit)),)
        if notes.etag is not None:
            headers = (*headers, ("ETag", notes.etag))
        return RestResponse(status=self.endpoint.status, body=_json.encode(result), headers=headers)

    def refuse(self, problem: ports.Problem, scope: Scope) -> RestResponse:
        """Build the error response of this endpoint, also for requests that never reached it."""
        return errors.error_response(
            problem,
            request_id=self.entry.request_id(scope),
            surface=self.endpoint.surface,
            result=self.endpoint.result,
            members=root_members(self.endpoint.document) if self.endpoint.result else (),
            codes=self.endpoint.codes,
        )
