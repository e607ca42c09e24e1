"""
Authentication, rate limits and context of a request, the same for REST and GraphQL.

The first steps of docs/spec/requests.md#order-of-checks: the limits of the address, the bearer
token, the token's own quota. The result is a `graph.context.Context`.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from starlette.types import Scope

from gateway.audit import recorder
from gateway.audit.decision import EntryPoint
from gateway.audit.log import DecisionLog
from gateway.audit.provider_errors import ProviderErrorLog
from gateway.auth.authenticator import Authenticator, read_bearer
from gateway.connections.accounts import Accounts
from gateway.errors import Overloaded
from gateway.http import client_addresses
from gateway.http.attachment_links import AttachmentLinks, link_of
from gateway.http.client_addresses import Network
from gateway.http.contents import open_content
from gateway.http.middleware import RequestState, request_state
from gateway.rule_intents.log import RuleIntentLog
from gateway.secrets.keyring import Keyring
from gateway.store.attempt_fence import AttemptFence
from gateway.store.database import StorageUnavailable
from gateway.store.uploads import UploadStore
from graph import effects, errors
from graph.context import Context
from graph.request_log import WHOLE_REQUEST
from policy.caller import Caller
from policy.quota import Charge, RequestCounter, Window, token_windows
from policy.refusals import Refusal, TooManyRequests, Unauthenticated
from policy.vocabulary import Surface, UnauthorizedReason
from providers.ports.mail import SendAttempt
from providers.write_fence import fenced
from rest_compat import ports
from rest_compat.ledger import Attempt, Ledger

MANAGEMENT = "management"
MANAGEMENT_COST: Mapping[str, int] = MappingProxyType({MANAGEMENT: 1})


@dataclass(frozen=True, slots=True)
class AdmittedRequest:
    """A request that was authenticated and charged; see `rest_compat.ports.AdmittedRequest`."""

    token_id: int
    request_id: str
    context: Context


@dataclass(frozen=True, slots=True)
class AddressLimits:
    """
    The rate limits of client addresses.

    Attributes:
        windows: By bucket.
        proxies: Peers whose `X-Forwarded-For` is trusted.
        on_limited: Called with the bucket of each refused request's path.
    """

    counter: RequestCounter
    windows: Mapping[str, tuple[Window, ...]]
    proxies: Sequence[Network]
    on_limited: Callable[[str], None] = lambda _: None

    def charges(
        self, scope: Scope, costs: Mapping[str, int], mount: str = "", *, valid: bool = True
    ) -> list[Charge]:
        """
        Return the charges of *costs*, requests by bucket, to the client's address.

        Requests without a *valid* credential have windows of their own: guesses cannot use up
        those of the right credential.
        """
        address = client_addresses.bucket(scope, self.proxies)
        prefix = mount if valid else f"unauthenticated:{mount}"
        return [
            Charge(f"{prefix}{bucket}:{address}", self.windows[bucket], cost)
            for bucket, cost in costs.items()
        ]

    async def take(self, scope: Scope, *charges: Charge) -> None:
        """
        Charge all of *charges*, or none.

        Raises:
            TooManyRequests: A window has not enough left.
        """
        verdict = await self.counter.take(charges)
        request_state(scope).record_verdict(verdict)
        if not verdict.allowed:
            self.on_limited(bucket_of(scope["path"])[0])
            raise TooManyRequests(verdict.retry_after)


class RequestEntry:
    """Authenticates and charges requests, and builds their contexts. One per process."""

    def __init__(  # noqa: PLR0913 - what a context is built from
        self,
        *,
        authenticator: Authenticator,
        limits: AddressLimits,
        keyring: Keyring,
        accounts: Accounts,
        decisions: DecisionLog,
        provider_errors: ProviderErrorLog,
        rule_intents: RuleIntentLog,
        attachment_links: AttachmentLinks,
        uploads: UploadStore,
        not_found_step: float = 0.0,
    ) -> None:
        """*not_found_step* is that of the contexts of requests, in seconds."""
        self.limits = limits
        self.recorder = recorder.Recorder(decisions, provider_errors)
        self._authenticator = authenticator
        self._keyring = keyring
        self._accounts = accounts
        self._decisions = decisions
        self._rule_intents = rule_intents
        self.attachment_links = attachment_links
        self._uploads = uploads
        self._not_found_step = not_found_step

    # -- for REST; see `rest_compat.ports.RequestEntry`

    def request_id(self, scope: Scope) -> str:
        return request_state(scope).request_id

    async def admit(
        self, scope: Scope, charge: ports.RateBucket, *, partial_fail: bool
    ) -> AdmittedRequest:
        try:
            context = await self.authorize(scope, {charge.windows: 1}, mount=charge.mount)
        except Refusal as refusal:
            raise _problem(refusal, None, self.request_id(scope)) from refusal
        context.require_all = partial_fail
        return AdmittedRequest(context.caller.token_id, context.request_id, context)

    def check_gates(
        self, operation: Any, visit: ports.AdmittedRequest, variables: Mapping[str, Any]
    ) -> None:
        """Check surface, connections and permission; *operation* is a graph `Operation`."""
        context: Context = visit.context
        if variables:
            context.request_log.variables = variables
        try:
            operation.admit(context, variables, members=variables.get("input", {}))
        except Refusal as refusal:
            ruling = errors.denial(refusal, surface=operation.surface)
            context.request_log.denials[WHOLE_REQUEST] = ruling
            raise _problem(refusal, operation.surface, context.request_id) from refusal

    @contextmanager
    def attempt(
        self, visit: ports.AdmittedRequest, attempt: Attempt, ledger: Ledger
    ) -> Iterator[None]:
        """Give the context what the attempt may send, and fence what it writes upstream."""
        own = f"{visit.token_id}:{attempt.seed}:{attempt.number}"
        digest = hashlib.sha256(own.encode()).digest()[:20]
        name = base64.b32encode(digest).decode().lower()
        fence = AttemptFence(attempt, ledger)
        visit.context.delivery = SendAttempt(
            message_id=name,
            maybe_sent=attempt.maybe_sent,
            draft_id=attempt.draft,
            store_draft=fence.store_draft,
        )
        with fenced(fence):
            yield

    def repeat(self, visit: ports.AdmittedRequest, effect: bytes) -> None:
        """Let the mutation answer with *effect*; see `graph.effects`."""
        visit.context.repeated = effects.decode(effect)

    def open_content(
        self, visit: ports.AdmittedRequest
    ) -> AbstractAsyncContextManager[ports.Content]:
        """Open the file that the operation found; see `gateway.http.contents`."""
        context: Context = visit.context
        return open_content(context)

    def notes(self, visit: ports.AdmittedRequest) -> ports.Notes:
        """Return what the operations noted: warnings and problems."""
        context: Context = visit.context
        return context

    # -- for every endpoint -----------------------------------------------------------------------

    async def authorize(
        self, scope: Scope, costs: Mapping[str, int], *, mount: str = ""
    ) -> Context:
        """
        Authenticate and charge a request; *costs* are its operations by bucket.

        Raises:
            Refusal: As `authenticate` and `charge_caller`.
        """
        caller = await self.authenticate(scope, costs, mount=mount)
        return await self.charge_caller(scope, caller, costs, mount=mount)

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
        link, state = link_of(scope), request_state(scope)
        with _noting_refusal(state):
            try:
                if link is not None:
                    caller = await self._authenticator.authenticate_holder(
                        link.token_id, link.key_id
                    )
                else:
                    caller = await self._authenticator.authenticate(scope["headers"])
            except Unauthenticated:
                await self.charge_unauthenticated(scope, costs, mount)
                raise
            except StorageUnavailable as failure:
                raise Overloaded from failure
        state.token_id = caller.token_id
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
        operations = sum(costs.values())
        address_charges = self.limits.charges(scope, costs, mount)
        state = request_state(scope)
        with _noting_refusal(state):
            await self.limits.take(scope, *address_charges, *_token_charges(caller, operations))
        context = self.build_context(caller, costs, request_id=self.request_id(scope))
        context.rule_intents = self._rule_intents
        context.not_found_step = self._not_found_step if caller.hides_resources else 0.0
        context.before_delay = state.give_up_slot
        context.wait_for_capacity = self._decisions.wait_for_capacity
        context.request_log = state.record = recorder.begin(_entry_point(scope, mount), operations)
        return context

    def build_context(
        self, caller: Caller, costs: Mapping[str, int], *, request_id: str
    ) -> Context:
        """Build the context of a request or a dry run; *costs* are operations by bucket."""
        return Context(
            caller=caller,
            request_id=request_id,
            sealer=self._keyring,
            mail=self._accounts.mailbox_for(caller, costs),
            calendars=self._accounts.calendars_for(caller, costs),
            tasks=self._accounts.tasks_for(caller, costs),
            content=self._accounts.content_for(caller, costs),
            download_address=self._download_address,
            attachment_link=self.attachment_links.of(caller),
            uploads=self._uploads.of(caller.token_id),
        )

    async def check_secret(self, scope: Scope, digests: Sequence[bytes]) -> bytes:
        """
        Return the one of *digests*, which are SHA-256, that is of the bearer credential.

        The right secret is charged nothing, and no number of wrong ones keeps it out.

        Raises:
            Unauthenticated: There is no credential, or it is another.
            TooManyRequests: So it is, and the address sent too many such requests.
        """
        with _noting_refusal(request_state(scope)):
            return await self._matching_digest(scope, digests)

    async def _matching_digest(self, scope: Scope, digests: Sequence[bytes]) -> bytes:
        try:
            digest = hashlib.sha256(read_bearer(scope["headers"], str.encode)).digest()
        except Unauthenticated:
            await self.charge_unauthenticated(scope)
            raise
        # All are compared, so that the time does not tell which one matches.
        matching = [right for right in digests if hmac.compare_digest(digest, right)]
        if not matching:
            await self.charge_unauthenticated(scope)
            raise Unauthenticated(UnauthorizedReason.UNKNOWN_TOKEN)
        return matching[0]

    def _download_address(self, file_id: str) -> str:
        return f"{self.attachment_links.base_url}/api/access/collab/files/{file_id}/download"

    async def charge_management(self, scope: Scope) -> None:
        """
        Charge the management bucket of the address.

        Raises:
            TooManyRequests: It is full.
        """
        await self.limits.take(scope, *self.limits.charges(scope, MANAGEMENT_COST))

    async def charge_unauthenticated(
        self, scope: Scope, costs: Mapping[str, int] = MANAGEMENT_COST, mount: str = ""
    ) -> None:
        """
        Charge *costs* to the address's windows of requests without a valid credential.

        Raises:
            TooManyRequests: A window has not enough left.
        """
        await self.limits.take(scope, *self.limits.charges(scope, costs, mount, valid=False))

    async def read_rate_state(self, scope: Scope) -> None:
        """Read the rate state for the headers of a response whose request was never charged."""
        bucket, mount = bucket_of(scope["path"])
        if bucket:
            charges = self.limits.charges(scope, {bucket: 0}, mount)
            request_state(scope).record_verdict(await self.limits.counter.take(charges))


@contextmanager
def _noting_refusal(state: RequestState) -> Iterator[None]:
    """Keep the refusal of a request that gets no record for the log line."""
    try:
        yield
    except Refusal as refusal:
        state.refusal = errors.denial(refusal, surface=None)
        raise


def bucket_of(path: str) -> tuple[str, str]:
    """Return the rate-limit bucket and the mount of *path*; ("", "") for pages and health."""
    mount = "/internal" if path.startswith("/internal/") else ""
    segments = path.removeprefix(mount).split("/")
    if segments[:3] == ["", "api", "access"] and len(segments) > 3 and segments[3] in _SURFACES:
        return segments[3], mount
    if segments[:2] == ["", "api"]:
        return MANAGEMENT, mount
    return ("graphql", "") if path == _GRAPHQL_PATH else ("", "")


_GRAPHQL_PATH = "/graphql"
_SURFACES = frozenset(surface.value for surface in Surface)


def _entry_point(scope: Scope, mount: str) -> EntryPoint:
    if mount:
        return EntryPoint.INTERNAL
    return EntryPoint.GRAPHQL if scope.get("path") == _GRAPHQL_PATH else EntryPoint.REST


def _token_charges(caller: Caller, cost: int) -> list[Charge]:
    windows = token_windows(caller.grant.quota)
    return [Charge(f"token:{caller.token_id}", windows, cost)] if windows else []


def _problem(refusal: Refusal, surface: Surface | None, request_id: str) -> ports.Problem:
    extensions = errors.extensions(refusal, surface=surface, request_id=request_id)
    return ports.Problem(refusal.message, extensions)
