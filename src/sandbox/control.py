"""
Credential check, call log and faults of every upstream, and the control paths for the last two.

The control paths answer loopback clients only and need no credential:
docs/spec/sandbox.md#control-paths.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox import faults, quota_units
from sandbox.call_log import CallLog, describe_call
from sandbox.concurrency import ConcurrencyLimit
from sandbox.error_bodies import ERROR_BUILDERS
from sandbox.faults import Fault
from sandbox.http import Handler, Request, Response, json_response
from sandbox.oauth.tokens import UPSTREAMS, parse_upstream
from sandbox.quota_units import QuotaMeter
from sandbox.state import SandboxState


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """
    A handler and the paths that it serves.

    Attributes:
        prefix: First segments of its paths, below the upstream's mount.
        is_open: Whether it is called without an access token (pre-authenticated URLs).
    """

    prefix: tuple[str, ...]
    handler: Handler
    is_open: bool = False


@dataclass(slots=True, kw_only=True)
class Upstream:
    """
    One upstream: its handlers, the faults that are set on it, and its call log.

    Attributes:
        own_faults: Fault kinds that only this upstream has, with the function that answers.
        concurrency: Limit of the calls that run at once; None: there is none. See
            docs/spec/sandbox.md#concurrency.
        quota: Meter of quota units; None: the upstream has none. See
            docs/spec/sandbox.md#quota-units.
    """

    name: str
    state: SandboxState
    mounts: list[Mount] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    calls: CallLog = field(default_factory=CallLog)
    own_faults: Mapping[str, Callable[..., Response]] = field(default_factory=dict)
    concurrency: ConcurrencyLimit | None = None
    quota: QuotaMeter | None = None

    async def call(self, request: Request, target: str | None = None) -> Response:
        """
        Answer a call, or an inner call of a batch. *target* is its path and query as sent.

        Raises:
            ConnectionCut, Unanswered: No answer is to come.
        """
        refusal = None if self.quota is None else self.quota.charge(quota_units.price(request))
        if refusal is not None:
            self.calls.append(self._logged(request, "quota"))
            return refusal
        if self.concurrency is None or not self.concurrency.counts(request):
            return await self._answer(request, target)
        with self.concurrency.place() as is_free:
            if is_free:
                await asyncio.sleep(0)  # so that calls sent together run together
                return await self._answer(request, target)
            self.calls.append(self._logged(request, "concurrency"))
            return self.concurrency.refusal()

    async def _answer(self, request: Request, target: str | None) -> Response:
        fault = self._fault(request, target) if self.faults else None
        kind = None if fault is None else fault.kind
        self.calls.append(self._logged(request, kind))
        if fault is None:
            return await self._run(request)
        if fault.kind in self.own_faults:
            respond = self.own_faults[fault.kind]
            return respond(request, reason=fault.reason, retry_after=fault.retry_after)
        return await faults.apply_fault(
            fault, request, lambda: self._run(request), ERROR_BUILDERS[self.name]
        )

    def _logged(self, request: Request, fault: str | None) -> dict[str, Any]:
        call = describe_call(request, fault, shows_document=self.name == "tasks")
        if self.quota is not None:
            call["units"] = quota_units.price(request)
        if self.concurrency is not None:
            call["running"] = self.concurrency.running
        return call

    async def _run(self, request: Request) -> Response:
        error_response = ERROR_BUILDERS[self.name]
        request = replace(request, grant=self._grant(request) or request.grant, inner=self.call)
        for mount in self.mounts:
            if request.segments[: len(mount.prefix)] != mount.prefix:
                continue
            if request.grant is None and not mount.is_open:
                return error_response(401)
            answer = await mount.handler(request)
            if answer is not None:
                return answer
        is_unauthorized = request.grant is None and self.name != "oauth"
        return error_response(401 if is_unauthorized else 404)

    def _grant(self, request: Request) -> Any:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        # monday.com takes its token without a scheme.
        bare = scheme if self.name == "tasks" and not token else ""
        access_token = token.strip() if scheme.lower() == "bearer" else bare
        return self.state.tokens.read(self.name, access_token) if access_token else None

    def _fault(self, request: Request, target: str | None) -> Fault | None:
        sent = target or request.link().removeprefix(request.public)
        # All calls of monday.com have the same path; only the document differs.
        document = request.body.decode("utf-8", "replace") if self.name == "tasks" else ""
        for fault in self.faults:
            if fault.matches(request, sent, document):
                if fault.count is not None:
                    fault.count -= 1
                    if fault.count == 0:
                        self.faults.remove(fault)
                return fault
        return None


class Control:
    """The control paths of all upstreams."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams

    def answer(self, request: Request) -> Response:
        """Answer ``/faults/{upstream}`` and ``/calls/{upstream}``."""
        kind, *rest = request.segments
        name = parse_upstream(rest[0]) if len(rest) == 1 else None
        if name is None:
            return _refusal(404, f"Upstreams are {', '.join(UPSTREAMS)}.")
        upstream = self._upstreams[name]
        if kind == "calls":
            return _calls(upstream, request.method)
        return _faults(upstream, request)


def _calls(upstream: Upstream, method: str) -> Response:
    if method == "GET":
        return json_response({"calls": list(upstream.calls)})
    if method == "DELETE":
        upstream.calls.clear()
        return Response(status=204)
    return _refusal(405, "Use GET or DELETE.")


def _faults(upstream: Upstream, request: Request) -> Response:
    if request.method == "DELETE":
        upstream.faults.clear()
        return Response(status=204)
    if request.method == "PUT":
        try:
            body = request.json()
            wanted: Sequence[Any] = body if isinstance(body, list) else [body]
            upstream.faults[:] = [
                faults.parse_fault(fault, own_kinds=upstream.own_faults) for fault in wanted
            ]
        except ValueError as problem:
            return _refusal(400, str(problem))
    elif request.method != "GET":
        return _refusal(405, "Use GET, PUT or DELETE.")
    return json_response({"faults": [fault.describe() for fault in upstream.faults]})


def _refusal(status: int, message: str) -> Response:
    return json_response({"error": message}, status)
