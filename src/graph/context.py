"""The context of one request: the caller, the data sources, and results for response headers."""

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from graphql import GraphQLResolveInfo
from strawberry.types import Info as StrawberryInfo
from strawberry.utils.str_converters import to_camel_case

from graph.attachment_uploads import UploadsOfToken
from graph.effects import Effect
from graph.loaders import Loaders
from graph.masking import masks
from graph.request_log import RequestLog
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import RuleType
from providers.calendar.merged_calendars import MergedCalendars
from providers.content.fingerprints import Fingerprint
from providers.content.merged_content import MergedContent
from providers.failures import OutcomeUnknown
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.mail import AttachmentFile, SendAttempt
from providers.tasks.accounts import TaskAccounts

if TYPE_CHECKING:
    from graph.execution.plan.planning import Plan


class Sealer(Protocol):
    """Encrypts and authenticates small payloads that clients carry."""

    def seal(self, payload: bytes, *, context: bytes) -> str:
        """Return URL-safe text that only `unseal` with the same *context* opens."""

    def unseal(self, token: str, *, context: bytes) -> bytes:
        """
        Open what `seal` returned.

        Raises:
            ValueError: The text is damaged, of another context, or not sealed by this gateway.
        """


class RuleIntents(Protocol):
    """
    Intents to add an allow rule for a created resource; see `graph.collab.visibility.auto_rules`.

    An intent is stored before the resource is created, and ends when the rule is stored.
    """

    async def intend(self, token_id: int, rule_type: RuleType, trace: Fingerprint) -> int:
        """
        Store the intent to create a resource, with the fingerprint that identifies it later.

        Returns:
            The id of the intent.

        Raises:
            Refusal: The token has the maximum number of rules.
        """

    async def allow(self, intent: int, pattern: str) -> None:
        """Store the allow rule of the created resource and end the intent."""

    async def drop(self, intent: int) -> None:
        """Delete an intent of which nothing was created for certain."""

    def abandon(self, intent: int) -> None:
        """Leave an intent of unknown outcome to the recovery process."""


@dataclass(kw_only=True)
class Context:
    """
    One request, of REST or GraphQL; never shared between requests.

    Attributes:
        mail: The token's usable mailboxes as one mailbox.
        calendars: The token's usable calendar accounts as one.
        tasks: The token's usable task accounts.
        content: The token's usable collaboration content as one.
        rule_intents: Adds rules for created resources; None adds none.
        require_all: The caller wants an error when any provider fails
            (docs/spec/requests.md#partial-failure).
        delivery: The attempt under an `Idempotency-Key`; set before the operation runs. None lets
            each send take a fresh Message-ID.
        effect: How the mutation of *delivery* ended, encoded; empty until it has.
        repeated: The effect of an earlier run; the mutation answers with it instead of running.
        applied_limit: The maximum, when a `limit` above it was lowered; else None.
        etag: The ETag of the one resource that was read, for `If-Match`.
        budget: How many objects may still be returned; None for internal documents.
        plan: The plan of the running operation; None while graphql-core runs it alone.
        hidden: The schema coordinates that this token may not see, like "Email.body".
        wait_for_capacity: Awaited before a mutation runs; raises a refusal when the decision log
            has no room for its row. None: the request is not logged.
        request_log: What the decision log records of the request; never shown to the caller.
        started: When the request started, by `time.monotonic`.
        not_found_step: Seconds; see `graph.execution.not_found_delay`. 0: a 404 is not delayed.
        before_delay: Called before a 404 is delayed: from then on the request only waits.
        download_address: Returns the address of the call that hands out a file's bytes, by its
            prefixed id.
        attachment_link: Returns the signed address of an attachment of this token, by the prefixed
            id of its message and its own id, and when the address expires.
        uploads: The files that this token uploaded to attach them.
        attachment: The attachment that the operation found; its bytes are not requested yet.
        now: The clock; returns an aware UTC time.
    """

    caller: Caller
    request_id: str
    sealer: Sealer
    mail: MergedMailbox
    calendars: MergedCalendars = field(repr=False)
    tasks: TaskAccounts = field(default_factory=TaskAccounts, repr=False)
    content: MergedContent = field(default_factory=lambda: MergedContent(()), repr=False)
    rule_intents: RuleIntents | None = field(default=None, repr=False)
    require_all: bool = False
    delivery: SendAttempt | None = None
    effect: bytes = b""
    repeated: Effect | None = None
    applied_limit: int | None = None
    etag: str | None = None
    budget: int | None = None
    plan: "Plan | None" = field(default=None, repr=False)
    wait_for_capacity: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)
    request_log: RequestLog = field(default_factory=RequestLog, repr=False)
    started: float = field(default_factory=time.monotonic, repr=False)
    not_found_step: float = 0.0
    before_delay: Callable[[], None] = field(default=lambda: None, repr=False)
    download_address: Callable[[str], str] | None = field(default=None, repr=False)
    attachment_link: Callable[[str, str], tuple[str, datetime]] | None = field(
        default=None, repr=False
    )
    uploads: UploadsOfToken | None = field(default=None, repr=False)
    attachment: AttachmentFile | None = field(default=None, repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    hidden: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.hidden = masks.hidden(self.caller.grant)

    @property
    def visibility(self) -> bytes:
        """Digest of all that decides what the token may see: its policy and its connections."""
        caller = self.caller
        connections = [
            (connection.id, connection.status, connection.can_write, connection.selected_site_ids)
            for connection in caller.connections
        ]
        seen = (caller.token_id, caller.policy_rev, caller.operator_id, connections)
        return hashlib.sha256(repr(seen).encode()).digest()

    def refuse_uncertain_retry(self) -> None:
        """
        Refuse a retry of a write whose earlier outcome is unknown and cannot be looked up.

        Raises:
            OutcomeUnknown: An earlier attempt of the request may have reached the provider.
        """
        if self.delivery is not None and self.delivery.maybe_sent:
            raise OutcomeUnknown

    def clamp_limit(self, limit: int | None, *, default: int, maximum: int) -> int:
        """
        Return *limit*, lowered to *maximum* (`applied_limit` is set then); *default* without one.

        Raises:
            InvalidInput: The limit is below 1.
        """
        if limit is None:
            return default
        if limit < 1:
            raise InvalidInput("limit must be at least 1.")
        if limit > maximum:
            self.applied_limit = maximum
        return min(limit, maximum)

    @cached_property
    def loaders(self) -> Loaders:
        """The request's data loaders; first read inside the event loop."""
        return Loaders(self.mail, single_use=self.plan is not None and len(self.plan.roots) == 1)


class Info(StrawberryInfo[Context, None]):
    """Strawberry's resolver info with the request's `Context`."""

    @property
    def raw(self) -> GraphQLResolveInfo[Context]:
        """graphql-core's own info, which `wanted` reads."""
        return self._raw_info

    def argument_name(self, python_name: str) -> str:
        """Return the GraphQL name of the argument that the resolver calls *python_name*."""
        names = {argument.python_name: argument.graphql_name for argument in self._field.arguments}
        return names[python_name] or to_camel_case(python_name)
