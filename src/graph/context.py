"""The context of one request: the caller, the data sources, and results for response headers."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from graphql import GraphQLResolveInfo
from strawberry.types import Info as StrawberryInfo
from strawberry.utils.str_converters import to_camel_case

from graph.attachment_uploads import UploadsOfToken
from graph.child_token_port import ChildTokens
from graph.effects import EffectRequest, HoldWrite
from graph.held_write_port import HeldWrites
from graph.kept_results import KeptResult
from graph.loaders.request_loaders import Loaders
from graph.masking import masks
from graph.request_log import Denial, RequestLog
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import LAYER_BY_CODE, Code, EmailOp, RuleType, Surface, WriteMode
from providers.calendar.merged_calendars import MergedCalendars
from providers.content.fingerprints import Fingerprint
from providers.content.merged_content import MergedContent
from providers.failures import OutcomeUnknown
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import AttachmentFile, SendAttempt
from providers.ports.people import PeoplePort
from providers.records import mail as mail_records
from providers.tasks.accounts import TaskAccounts

if TYPE_CHECKING:
    from graph.changes.subscription_port import Subscriptions
    from graph.execution.plan.planning import Plan


class Sealer(Protocol):
    """Encrypts, authenticates and signs small payloads that clients carry."""

    def seal(self, payload: bytes, *, context: bytes) -> str:
        """Return URL-safe text that only `unseal` with the same *context* opens."""

    def unseal(self, token: str, *, context: bytes) -> bytes:
        """
        Open what `seal` returned.

        Raises:
            ValueError: The text is damaged, of another context, or not sealed by this gateway.
        """

    def sign(self, payload: bytes, *, context: bytes) -> str:
        """Return the signature of *payload*: URL-safe and deterministic."""

    def verify(self, signature: str, payload: bytes, *, context: bytes) -> bool:
        """Return whether `sign` made *signature* for *payload* and *context*."""


class RuleIntents(Protocol):
    """
    Intents to add an allow rule for a created resource; see `graph.collab.visibility.auto_rules`.

    An intent is stored before the resource is created, and ends when the rule is stored.
    """

    async def require_room(self, token_id: int) -> None:
        """Raise what `intend` would raise; store nothing."""

    async def intend(self, token_id: int, rule_type: RuleType, fingerprint: Fingerprint) -> int:
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


class FeedStates(Protocol):
    """The stored states of the feeds of one token: docs/spec/changes.md#cursors."""

    async def load(self, state_id: str) -> bytes | None:
        """Return the content of a state; None when it is not kept any more, or was never."""

    async def store(self, content: bytes, *, feed: str, after: str | None) -> str:
        """
        Store a state, and drop what need not be kept any more.

        Args:
            content: At most a few megabytes; it is stored encrypted.
            feed: The feed that it is a state of.
            after: The state from which it was made, which is kept; None for a new feed.

        Returns:
            The id of the state, random; all have the same length.
        """


@dataclass(kw_only=True)
class Context:
    """
    One request, of REST or GraphQL; never shared between requests.

    Attributes:
        mail: The token's usable mailboxes as one mailbox.
        people: Returns the usable mail accounts that know people beyond their messages.
        calendars: The token's usable calendar accounts as one.
        tasks: The token's usable task accounts.
        content: The token's usable collaboration content as one.
        rule_intents: Adds rules for created resources; None adds none.
        require_all: The caller wants an error when any provider fails
            (docs/spec/requests.md#partial-failure).
        delivery: The attempt under an `Idempotency-Key`; set before the operation runs. None lets
            each send take a fresh Message-ID.
        effect_request: Set for the mutation of a dry run, of a call with `If-Effect`, and of a
            token that writes only with it.
        kept_result: How the mutation of *delivery* ended, encoded; empty until it has.
        repeated: That of an earlier run; the mutation answers with it instead of running.
        cost: Describes the cost of the running operation; None: the caller does not ask.
        held: Whether a person has the last word: the message of the mutation is left as a draft,
            or the write waits.
        hold_write: Stores a write that waits for a person; None: nothing is stored.
        held_writes: The writes of this token that wait or waited for a person.
        feeds: The stored states of this token's feeds of changes.
        subscriptions: Who is told that this token's feeds have changes.
        wait: Seconds for which the caller waits for the end of such a write.
        has_waited: Whether it did.
        applied_limit: The maximum, when a `limit` above it was lowered; else None.
        etag: The ETag of the one resource that was read, for `If-Match`.
        budget: How many objects may still be returned; None for internal documents.
        saved_document: The name of the saved document that a REST call runs; else None.
        by_link: Whether the credential is a signed link instead of the token.
        plan: The plan of the running operation; None while graphql-core runs it alone.
        hidden: The schema coordinates that this token may not see, like "Email.body".
        wait_for_capacity: Awaited before a mutation runs; raises a refusal when the decision log
            has no room for its row. None: the request is not logged.
        request_log: What the decision log records of the request; never shown to the caller.
        started: When the request started, by `time.monotonic`.
        not_found_step: Seconds; see `graph.execution.not_found_delay`. 0: a 404 is not delayed.
        download_address: Returns the address of the call that hands out a file's bytes, by its
            prefixed id.
        attachment_link: Returns the signed address of an attachment of this token, by the prefixed
            id of its message and its own id, and when the address expires.
        narrow_mail: Returns mailboxes as their accounts narrow them, for calls about drafts that
            need an operation, or for all other calls.
        uploads: The files that this token uploaded to attach them.
        child_tokens: The tokens that were made from this one.
        attachment: The attachment that the operation found; its bytes are not requested yet.
        texts: The readable texts of messages, by what they are made of.
        now: The clock; returns an aware UTC time.
    """

    caller: Caller
    request_id: str
    sealer: Sealer
    mail: MergedMailbox
    people: Callable[[], Sequence[tuple[ConnectionInfo, PeoplePort]]] = tuple
    calendars: MergedCalendars = field(repr=False)
    tasks: TaskAccounts = field(default_factory=TaskAccounts, repr=False)
    content: MergedContent = field(default_factory=lambda: MergedContent(()), repr=False)
    rule_intents: RuleIntents | None = field(default=None, repr=False)
    require_all: bool = False
    delivery: SendAttempt | None = None
    effect_request: EffectRequest | None = None
    kept_result: bytes = b""
    repeated: KeptResult | None = None
    cost: Callable[[Collection[Surface]], Mapping[str, Any]] | None = None
    held: bool = False
    hold_write: HoldWrite | None = field(default=None, repr=False)
    held_writes: HeldWrites | None = field(default=None, repr=False)
    feeds: FeedStates | None = field(default=None, repr=False)
    subscriptions: "Subscriptions | None" = field(default=None, repr=False)
    wait: int = 0
    has_waited: bool = False
    applied_limit: int | None = None
    etag: str | None = None
    budget: int | None = None
    saved_document: str | None = None
    by_link: bool = False
    plan: "Plan | None" = field(default=None, repr=False)
    wait_for_capacity: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)
    request_log: RequestLog = field(default_factory=RequestLog, repr=False)
    started: float = field(default_factory=time.monotonic, repr=False)
    not_found_step: float = 0.0
    download_address: Callable[[str], str] | None = field(default=None, repr=False)
    attachment_link: Callable[[str, str], tuple[str, datetime]] | None = field(
        default=None, repr=False
    )
    narrow_mail: Callable[[MergedMailbox, Caller, EmailOp | None], MergedMailbox] | None = field(
        default=None, repr=False
    )
    uploads: UploadsOfToken | None = field(default=None, repr=False)
    child_tokens: ChildTokens | None = field(default=None, repr=False)
    attachment: AttachmentFile | None = field(default=None, repr=False)
    texts: dict[Hashable, asyncio.Future[str]] = field(default_factory=dict, repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    hidden: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.hidden = masks.hidden(self.caller.grant)
        if self.caller.grant.accounts:
            self._whole_mail = self.mail
            self.mail = self._narrowed_mail(None)

    def mail_of_drafts(self, operation: EmailOp) -> MergedMailbox:
        """Return the mailboxes for calls about drafts, which need *operation* of an account."""
        return self._narrowed_mail(operation) if self.caller.grant.accounts else self.mail

    def _narrowed_mail(self, operation: EmailOp | None) -> MergedMailbox:
        if self.narrow_mail is None:
            raise TypeError("The settings of accounts need what narrows mailboxes.")
        return self.narrow_mail(self._whole_mail, self.caller, operation)

    def check_document(self, names: Sequence[str]) -> None:
        """
        Check that the token may make a call that runs the saved documents *names*.

        A link that the gateway signed is not a call of the token: a document handed it out.

        Raises:
            DocumentNotAllowed: It may not.
        """
        if not self.by_link and not self.caller.require_document(names):
            code = Code.DOCUMENT_NOT_ALLOWED
            self.request_log.noted = Denial(layer=LAYER_BY_CODE[code], code=code, status=403)

    def check_saved_document(self) -> None:
        """Check the same of a REST call, which runs one saved document or none."""
        if self.caller.limits_documents:
            self.check_document(() if self.saved_document is None else (self.saved_document,))

    def ask_for_effect(self, *, dry_run: bool, expected: str | None) -> None:
        """Make the mutation a dry run, or one that writes only with the *expected* effect."""
        modes = frozenset() if dry_run else self.caller.write_modes
        if dry_run or modes != {WriteMode.DIRECT} or expected is not None:
            self.effect_request = EffectRequest(
                dry_run=dry_run, expected=expected, modes=modes, hold=self.hold_write
            )

    @property
    def is_dry_run(self) -> bool:
        """Whether the caller asked for a dry run, which ends at its first write."""
        return self.effect_request is not None and self.effect_request.dry_run

    @property
    def stops_before_write(self) -> bool:
        """Whether the mutation cannot write: a dry run, or one that lacks a digest."""
        return self.effect_request is not None and self.effect_request.stops_before_write

    @property
    def expected_effect(self) -> str | None:
        """The digest in `If-Effect`; None: any effect is accepted."""
        return self.effect_request.expected if self.effect_request is not None else None

    @property
    def effect(self) -> Mapping[str, Any] | None:
        """The effect of a dry run; None before it has come to its end, and for other requests."""
        return self.effect_request.effect if self.effect_request is not None else None

    @property
    def visibility(self) -> bytes:
        """Digest of all that decides what the token may see: its policy and its connections."""
        caller = self.caller
        connections = [
            (connection.id, connection.status, connection.can_write, connection.selected_site_ids)
            for connection in caller.connections
        ]
        revisions = (caller.policy_rev, *caller.ancestor_revs)
        seen = (caller.token_id, *revisions, caller.operator_id, connections)
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

    def cancel_reads(self) -> None:
        """Stop what loaders read; fields that share a read do not stop it when they are."""
        loaders = vars(self).get("loaders")
        if loaders is not None:
            loaders.cancel()

    def read_email(
        self, email_id: str, projection: AbstractSet[str]
    ) -> Awaitable[mail_records.Email]:
        """Read one message, with others of the request unless it is the only read."""
        if self.plan is not None and self.plan.reads_once:
            return self.mail.get(email_id, projection=projection)
        return self.loaders.email(email_id, frozenset(projection))

    @cached_property
    def loaders(self) -> Loaders:
        """The request's data loaders; first read inside the event loop."""
        return Loaders(
            self.mail,
            self.calendars,
            self.tasks,
            self.content,
            single_use=self.plan is not None and self.plan.reads_once,
        )


class Info(StrawberryInfo[Context, None]):
    """
    Strawberry's resolver info with the request's `Context`.

    Attributes:
        context: An attribute, not a property as Strawberry's, because resolvers read it often.
        raw: graphql-core's own info, which `projection` reads.
    """

    context: Context = cast("Context", None)
    raw: GraphQLResolveInfo[Context]

    def __init__(self, _raw_info: GraphQLResolveInfo[Any], _field: Any) -> None:
        self._raw_info = self.raw = _raw_info
        self._field = _field
        self.context = _raw_info.context

    def argument_name(self, python_name: str) -> str:
        """Return the GraphQL name of the argument that the resolver calls *python_name*."""
        names = {argument.python_name: argument.graphql_name for argument in self._field.arguments}
        return names[python_name] or to_camel_case(python_name)
