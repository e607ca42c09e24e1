"""
The one way in, for REST and GraphQL alike: the same caller, the same context, the same charges.

Gates 1 to 3 of decisions 2, in this order: the address's limits, the bearer token, the token's own
quota. What comes out is a `graph.context.Context`.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope

from gateway.audit import recorder
from gateway.audit.decision import EntryPoint
from gateway.audit.log import DecisionLog
from gateway.connections.accounts import Accounts
from gateway.errors import Overloaded
from gateway.http import client_addresses
from gateway.http.middleware import request_state
from gateway.rule_intents.log import RuleIntentLog
from gateway.rule_intents.recovery import RuleIntentRecovery
from gateway.services import Services
from gateway.store.database import StorageUnavailable
from graph import errors
from graph.context import Context, Delivery
from graph.request_log import WHOLE_REQUEST
from policy.caller import Caller
from policy.quota import Charge, token_windows
from policy.refusals import Refusal, TooManyRequests, Unauthenticated
from policy.vocabulary import Surface
from rest_compat import ports

MANAGEMENT = "management"


@dataclass(frozen=True, slots=True)
class AdmittedRequest:
    """One request that came through; see `rest_compat.ports.AdmittedRequest`."""

    token_id: int
    request_id: str
    context: Context


class RequestEntry:
    """Lets requests in. One per process."""

    def __init__(self, services: Services, accounts: Accounts, decisions: DecisionLog) -> None:
        self._services = services
        self._accounts = accounts
        self._decisions = decisions
        self.recorder = recorder.Recorder(decisions)
        self.rulebook = RuleIntentLog(services.database, services.keyring)
        self.mending = RuleIntentRecovery(services.database, services.keyring, accounts)

    # -- for REST; see `rest_compat.ports.RequestEntry`

    def request_id(self, scope: Scope) -> str:
        """Return the request's id."""
        return request_state(scope).request_id

    async def admit(
        self, scope: Scope, charge: ports.RateBucket, *, partial_fail: bool
    ) -> AdmittedRequest:
        """Let a request to the table in."""
        try:
            context = await self.authorize(scope, {charge.windows: 1}, mount=charge.mount)
        except Refusal as refusal:
            raise _problem(refusal, None, self.request_id(scope)) from refusal
        context.require_all = partial_fail
        return AdmittedRequest(context.caller.token_id, context.request_id, context)

    def check_gates(
        self, operation: Any, visit: ports.AdmittedRequest, variables: Mapping[str, Any]
    ) -> None:
        """Pass gates 4 to 6; *operation* is a `graph.documents.operations.Operation`."""
        context: Context = visit.context
        if variables:
            context.request_log.variables = variables
        try:
            operation.admit(context, variables, members=variables.get("input", {}))
        except Refusal as refusal:
            ruling = errors.denial(refusal, surface=operation.surface)
            context.request_log.denials[WHOLE_REQUEST] = ruling
            raise _problem(refusal, operation.surface, context.request_id) from refusal

    def mark_attempt(self, visit: ports.AdmittedRequest, *, seed: str, maybe_sent: bool) -> None:
        """Tell the context which intent this is."""
        digest = hashlib.sha256(f"{visit.token_id}:{seed}".encode()).digest()[:20]
        name = base64.b32encode(digest).decode().lower()
        visit.context.delivery = Delivery(f"{name}@access-gateway.invalid", maybe_sent)

    def notes(self, visit: ports.AdmittedRequest) -> ports.Notes:
        """Return what the operations noted so far."""
        context: Context = visit.context
        return context

    # -- what everybody asks -------------------------------------------------------------------

    async def authorize(
        self, scope: Scope, costs: Mapping[str, int], *, mount: str = ""
    ) -> Context:
        """
        Let a request in that costs *costs*: bucket to number of operations.

        Raises:
            Refusal: As `authenticate` and `charge_caller`.
        """
        caller = await self.authenticate(scope, costs, mount=mount)
        return await self.charge_caller(scope, caller, costs, mount=mount)

    async def authenticate(
        self, scope: Scope, costs: Mapping[str, int], *, mount: str = ""
    ) -> Caller:
        """
        Find out who asks; nothing is charged to who may.

        A bad token charges the address with *costs*, and a full bucket is told before a bad token.

        Raises:
            Unauthenticated: See `callers`.
            TooManyRequests: A window of the address has not enough left for a bad token.
            Overloaded: The database did not answer.
        """
        try:
            return await self._services.authenticator.authenticate(scope["headers"])
        except Unauthenticated:
            await self._charge(scope, *self._address_charges(scope, costs, mount))
            raise
        except StorageUnavailable as failure:
            raise Overloaded from failure

    async def charge_caller(
        self, scope: Scope, caller: Caller, costs: Mapping[str, int], *, mount: str = ""
    ) -> Context:
        """
        Charge *costs* to the address and to the token's quota, all at once or not at all.

        What is not charged is not opened: connections of other surfaces are out of reach.

        Raises:
            TooManyRequests: A window of the address or of the token has not enough left.
        """
        charges = self._address_charges(scope, costs, mount)
        await self._charge(scope, *charges, *_token_charges(caller, sum(costs.values())))
        context = self.build_context(caller, costs, request_id=self.request_id(scope))
        context.rule_intents, context.wait_for_capacity = (
            self.rulebook,
            self._decisions.wait_for_capacity,
        )
        context.request_log = recorder.begin(_way(scope, mount), sum(costs.values()))
        return context

    def build_context(
        self, caller: Caller, costs: Mapping[str, int], *, request_id: str
    ) -> Context:
        """Return what a request of *caller* carries that costs *costs*, done or rehearsed."""
        return Context(
            caller=caller,
            request_id=request_id,
            sealer=self._services.keyring,
            mail=self._accounts.mailbox_for(caller, costs),
            calendars=self._accounts.calendars_for(caller, costs),
            tasks=self._accounts.tasks_for(caller, costs),
            content=self._accounts.content_for(caller, costs),
        )

    async def charge_management(self, scope: Scope) -> None:
        """
        Charge the management bucket of the address.

        Raises:
            TooManyRequests: It is full.
        """
        await self._charge(scope, *self._address_charges(scope, {MANAGEMENT: 1}, ""))

    async def read_rate_state(self, scope: Scope) -> None:
        """Look up the rate state for an answer on a surface's path that nothing charged."""
        bucket, mount = bucket_of(scope["path"])
        if bucket:
            charges = self._address_charges(scope, {bucket: 0}, mount)
            request_state(scope).met(await self._services.counter.take(charges))

    def _address_charges(self, scope: Scope, costs: Mapping[str, int], mount: str) -> list[Charge]:
        address = client_addresses.bucket(scope, self._services.proxies)
        return [
            Charge(f"{mount}{bucket}:{address}", self._services.windows[bucket], cost)
            for bucket, cost in costs.items()
        ]

    async def _charge(self, scope: Scope, *charges: Charge) -> None:
        verdict = await self._services.counter.take(charges)
        request_state(scope).met(verdict)
        if not verdict.allowed:
            raise TooManyRequests(verdict.retry_after)


def bucket_of(path: str) -> tuple[str, str]:
    """Return (bucket, mount) that *path* belongs to; ("", "") for pages and health."""
    mount = "/internal" if path.startswith("/internal/") else ""
    words = path.removeprefix(mount).split("/")
    if words[:3] == ["", "api", "access"] and len(words) > 3 and words[3] in _SURFACES:
        return words[3], mount
    if words[:2] == ["", "api"]:
        return MANAGEMENT, mount
    return ("graphql", "") if path == "/graphql" else ("", "")


_SURFACES = frozenset(surface.value for surface in Surface)


def _way(scope: Scope, mount: str) -> EntryPoint:
    if mount:
        return EntryPoint.INTERNAL
    return (
        EntryPoint.GRAPHQL if bucket_of(scope.get("path", ""))[0] == "graphql" else EntryPoint.REST
    )


def _token_charges(caller: Caller, cost: int) -> list[Charge]:
    windows = token_windows(caller.grant.quota)
    return [Charge(f"token:{caller.token_id}", windows, cost)] if windows else []


def _problem(refusal: Refusal, surface: Surface | None, request_id: str) -> ports.Problem:
    extensions = errors.extensions(refusal, surface=surface, request_id=request_id)
    return ports.Problem(refusal.message, extensions)
