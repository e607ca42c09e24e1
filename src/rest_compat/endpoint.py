"""
One documented call, from request to answer.

The order is that of decisions 2: the door (address, token, quota), the gates of the operation, then
the parameters and the body, then the graph. A POST with a key runs once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from starlette.types import Scope

from rest_compat import errors
from rest_compat.binding import INPUT, bind
from rest_compat.idempotency import KEY_HEADER, make_intent, read_key, run_once
from rest_compat.ledger import Ledger
from rest_compat.ports import (
    AdmittedRequest,
    CallObserver,
    Operation,
    Problem,
    RequestEntry,
    Variable,
)
from rest_compat.preferences import Preferences, read_preferences
from rest_compat.readers import Body, BodyReader
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint

# Top-level members that are left out when they say nothing (decisions 0). Planned documents leave
# them out themselves; this is for what the graph answered without a plan.
OMITTED_WHEN_EMPTY = ("accessInfo", "authWarnings")

_json = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """
    A row of the table, ready to answer.

    Attributes:
        body: The variable that a request body fills, or None.
        reader: Who reads the body.
        left: Who is told when a call is over; None: nobody.
    """

    endpoint: Endpoint
    operation: Operation
    entry: RequestEntry
    ledger: Ledger
    body: Variable | None
    reader: BodyReader
    observer: CallObserver | None = None

    async def respond(self, call: RestRequest, path: Mapping[str, str]) -> RestResponse:
        """Answer *call*, whose path parameters are *path*; refusals are answers too."""
        wanted = read_preferences(call.headers.get("prefer", ()))
        try:
            visit = await self.entry.admit(
                call.scope, self.endpoint.charge, partial_fail=wanted.partial_fail
            )
        except Problem as failure:
            return self.refuse(failure, call.scope).with_headers(*wanted.applied)
        answer: RestResponse | None = None
        ended: BaseException | None = None
        try:
            await self._admit(call, path, visit)
            answer = await self._once(call, path, visit, wanted)
        except Problem as failure:
            answer, ended = self.refuse(failure, call.scope), failure
        except BaseException as bug:
            ended = bug
            raise
        finally:
            if self.observer is not None:
                self.observer(visit, self.operation, answer, ended)
        return answer.with_headers(*wanted.applied)

    async def _admit(
        self, call: RestRequest, path: Mapping[str, str], visit: AdmittedRequest
    ) -> None:
        """
        Pass the gates that need no parameters.

        Raises:
            Problem: A gate refuses. When one of several operations would do, and a body tells
                which the call needs, the graph's own refusal names it.
        """
        try:
            self.entry.check_gates(self.operation, visit)
        except Problem as refusal:
            alternatives = " or " in refusal.extensions.get("requiredOperation", "")
            if self.body is None or not alternatives:
                raise
            try:
                body = await self.reader.receive(call, self.body)
                await self._run(call, path, visit, Preferences(), body)
            except Problem as named:
                same = named.extensions.get("code") == refusal.extensions.get("code")
                raise (named if same else refusal) from None
            raise

    async def _once(
        self,
        call: RestRequest,
        path: Mapping[str, str],
        visit: AdmittedRequest,
        wanted: Preferences,
    ) -> RestResponse:
        """Answer by the ledger when the call has a key, directly otherwise."""
        key = None
        if self.endpoint.method == "POST":
            key = read_key(call.headers.get(KEY_HEADER, ()))
        body = None
        if self.body is not None:
            body = await self.reader.receive(call, self.body)
        if key is None:
            return await self._run(call, path, visit, wanted, body)

        async def run() -> RestResponse:
            try:
                return await self._run(call, path, visit, wanted, body)
            except Problem as failure:
                return self.refuse(failure, call.scope)

        sent = body.fingerprint if body is not None else b""
        return await run_once(
            make_intent(call, visit, key, sent),
            run,
            body=body,
            mark_attempt=partial(self.entry.mark_attempt, visit),
            ledger=self.ledger,
        )

    async def _run(
        self,
        call: RestRequest,
        path: Mapping[str, str],
        visit: AdmittedRequest,
        wanted: Preferences,
        body: Body | None,
    ) -> RestResponse:
        """Bind, run, shape."""
        variables = bind(self.endpoint, self.operation, call, path, strict=wanted.strict)
        if body is not None:
            variables[INPUT] = body.value(strict=wanted.strict)
        outcome = await self.operation.run(variables, visit.context)
        if body is not None and body.broken is not None:
            raise body.broken
        if outcome.errors:
            raise errors.problem_from_graphql(outcome.errors[0])
        return self._success(outcome.data or {}, visit)

    def _success(self, data: Mapping[str, Any], visit: AdmittedRequest) -> RestResponse:
        if self.endpoint.status == 204:
            return RestResponse(status=204)
        result = data["result"]
        for member in OMITTED_WHEN_EMPTY:
            if isinstance(result, dict) and not result.get(member, True):
                del result[member]
        headers: tuple[tuple[str, str], ...] = ()
        notes = self.entry.notes(visit)
        if notes.applied_limit is not None:
            headers = (("X-Applied-Limit", str(notes.applied_limit)),)
        if notes.etag is not None:
            headers = (*headers, ("ETag", notes.etag))
        return RestResponse(status=self.endpoint.status, body=_json.encode(result), headers=headers)

    def refuse(self, failure: Problem, scope: Scope) -> RestResponse:
        """Tell of *failure*, whether or not it came to answering *scope*."""
        return errors.error_response(
            failure,
            request_id=self.entry.request_id(scope),
            surface=self.endpoint.surface,
            result=self.endpoint.result,
            codes=self.endpoint.codes,
        )
