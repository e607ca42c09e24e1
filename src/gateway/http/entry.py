"""
Authentication, rate limits and context of a request, the same for REST and GraphQL.

The first steps of docs/spec/requests.md#order-of-checks: the limits of the address, the bearer
token, the token's own quota. The result is a `graph.context.Context`.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from starlette.types import Scope

from gateway.audit import recorder
from gateway.audit.decision import EntryPoint
from gateway.auth.authenticator import read_bearer
from gateway.errors import Overloaded
from gateway.http.attachment_links import link_of
from gateway.http.request_state import RequestState, request_state
from gateway.ratelimit.buckets import AGENTS_PATH, GRAPHQL_PATHS, MANAGEMENT, bucket_of
from gateway.store.database import StorageUnavailable
from graph import errors
from graph.context import Context
from graph.emails.account_drafts import narrow_mail
from graph.request_log import RequestLog
from policy.caller import Caller
from policy.refusals import Refusal, Unauthenticated
from policy.vocabulary import UnauthorizedReason

if TYPE_CHECKING:
    from gateway.services import Services

MANAGEMENT_COST: Mapping[str, int] = MappingProxyType({MANAGEMENT: 1})


class RequestEntry:
    """Authenticates and charges requests, and builds their contexts. One per process."""

    def __init__(self, services: "Services") -> None:
        self.limits = services.limits
        self.saved = services.documents
        self.recorder = recorder.Recorder(services.decisions, services.provider_errors)
        self.attachment_links = services.attachment_links
        self._services = services
        self._authenticator = services.authenticator
        self._not_found_step = services.settings.not_found_step_ms / 1000

    async def authenticate(
        self, scope: Scope, costs: Mapping[str, int], *, mount: str = ""
    ) -> Caller:
        """
        Return the caller; nothing is charged for a valid token.

        An invalid token charges *costs* to the address's windows of such requests; when they have
        not enough left, the refusal is about that and not about the token.

        Raises:
            Unauthenticated: See `Authenticator.authenticate`.
            TooManyRequests: The token is invalid, and a window of the address has not enough left.
            Overloaded: The database did not answer.
        """
        state = request_state(scope)
        link = link_of(scope)
        try:
            try:
                if link is None:
                    caller = await self._authenticator.authenticate(
                        scope["headers"], path=scope["path"]
                    )
                else:
                    state.by_link = True
                    caller = await self._authenticator.authenticate_holder(
                        link.token_id, link.key_id
                    )
            except Unauthenticated:
                await self.charge_unauthenticated(scope, costs, mount)
                raise
            except StorageUnavailable as failure:
                raise Overloaded from failure
        except Refusal as refusal:
            _note(refusal, state)
            raise
        state.token_id, state.authenticated = caller.token_id, True
        return caller

    async def charge_caller(
        self, scope: Scope, caller: Caller, costs: Mapping[str, int], *, mount: str = ""
    ) -> Context:
        """
        Charge *costs* to the address and to the token's quota, all at once or not at all.

        The context reaches the connections of the charged surfaces only.

        Raises:
            TooManyRequests: A window of the address or of the token has not enough left.
        """
        operations, state = sum(costs.values()), request_state(scope)
        charges = [*self.limits.charges(scope, costs, mount), *caller.quota_charges(operations)]
        try:
            await self.limits.take(scope, state, charges)
        except Refusal as refusal:
            _note(refusal, state)
            raise
        return self._context(caller, costs, state, _entry_point(scope, mount), operations)

    def _context(
        self,
        caller: Caller,
        costs: Mapping[str, int],
        state: RequestState,
        entry_point: EntryPoint,
        operations: int,
    ) -> Context:
        """Build the context of a request that is charged, and begin its record."""
        state.record = record = recorder.begin(entry_point, operations)
        context = self.build_context(caller, costs, request_id=state.request_id, log=record)
        if caller.hides_resources and self._not_found_step:
            context.not_found_step = self._not_found_step
        context.wait_for_capacity = self._services.decisions.wait_for_capacity
        return context

    def build_context(
        self,
        caller: Caller,
        costs: Mapping[str, int],
        *,
        request_id: str,
        log: RequestLog | None = None,
    ) -> Context:
        """Build the context of a request or a dry run; *costs* are operations by bucket."""
        return Context(
            caller=caller,
            request_id=request_id,
            request_log=RequestLog() if log is None else log,
            sealer=self._services.keyring,
            download_address=self._download_address,
            attachment_link=self.attachment_links.of(caller),
            rule_intents=self._services.rule_intents,
            uploads=self._services.uploads.of(caller.token_id),
            child_tokens=self._services.child_tokens.of(caller),
            held_writes=self._services.held_writes.of(caller),
            feeds=self._services.feed_states.of(caller.token_id),
            subscriptions=self._services.subscriptions.of(caller.token_id),
            narrow_mail=narrow_mail,
            **self._services.accounts.ports_for(caller, costs),
        )

    async def check_secret(self, scope: Scope, digests: Sequence[bytes]) -> bytes:
        """
        Return the one of *digests*, which are SHA-256, that is of the bearer credential.

        The right secret is charged nothing, and no number of wrong ones keeps it out.

        Raises:
            Unauthenticated: There is no credential, or it is another.
            TooManyRequests: So it is, and the address sent too many such requests.
        """
        try:
            secret = read_bearer(scope["headers"], str.encode)
        except Unauthenticated as refusal:
            await self._charge_refused(scope)
            _note(refusal, request_state(scope))
            raise
        return await self.match_secret(scope, secret, digests)

    async def match_secret(self, scope: Scope, secret: bytes, digests: Sequence[bytes]) -> bytes:
        """Return the one of *digests* that is of *secret*; raises as `check_secret`."""
        digest, state = hashlib.sha256(secret).digest(), request_state(scope)
        # All are compared, so that the time does not tell which one matches.
        matching = [right for right in digests if hmac.compare_digest(digest, right)]
        if not matching:
            await self._charge_refused(scope)
            refusal = Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
            _note(refusal, state)
            raise refusal
        state.authenticated = True
        return matching[0]

    async def _charge_refused(self, scope: Scope) -> None:
        try:
            await self.charge_unauthenticated(scope)
        except Refusal as refusal:
            _note(refusal, request_state(scope))
            raise

    def _download_address(self, file_id: str) -> str:
        return f"{self.attachment_links.base_url}/api/access/collab/files/{file_id}/download"

    async def charge_management(self, scope: Scope) -> None:
        """
        Charge the management bucket of the address.

        Raises:
            TooManyRequests: It is full.
        """
        await self.limits.take(
            scope, request_state(scope), self.limits.charges(scope, MANAGEMENT_COST)
        )

    async def charge_unauthenticated(
        self, scope: Scope, costs: Mapping[str, int] = MANAGEMENT_COST, mount: str = ""
    ) -> None:
        """
        Charge *costs* to the address's windows of requests without a valid credential.

        Raises:
            TooManyRequests: A window has not enough left.
        """
        charges = self.limits.charges(scope, costs, mount, valid=False)
        await self.limits.take(scope, request_state(scope), charges)

    async def read_rate_state(self, scope: Scope) -> None:
        """Read the rate state for the headers of a response whose request was never charged."""
        bucket, mount = bucket_of(scope["path"])
        if bucket:
            charges = self.limits.charges(scope, {bucket: 0}, mount)
            request_state(scope).record_verdict(await self.limits.counter.take(charges))


def _note(refusal: Refusal, state: RequestState) -> None:
    """Keep the refusal of a request, which gets no record, for the log line."""
    state.refusal = errors.denial(refusal, surface=None)


def _entry_point(scope: Scope, mount: str) -> EntryPoint:
    if mount:
        return EntryPoint.INTERNAL
    return _ENTRY_POINTS.get(scope.get("path"), EntryPoint.REST)


_ENTRY_POINTS: Mapping[str | None, EntryPoint] = MappingProxyType(
    {**dict.fromkeys(GRAPHQL_PATHS, EntryPoint.GRAPHQL), AGENTS_PATH: EntryPoint.AGENT}
)
