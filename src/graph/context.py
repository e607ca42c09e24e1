"""What one request carries: who asks, where data comes from, and what it leaves to tell."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Protocol

from graphql import GraphQLResolveInfo
from strawberry.types import Info as StrawberryInfo
from strawberry.utils.str_converters import to_camel_case

from graph.execution.plan.planning import Plan
from graph.loaders import Loaders
from graph.masking import masks
from graph.request_log import RequestLog
from policy.caller import Caller
from policy.vocabulary import RuleType
from providers.calendar.merged_calendars import MergedCalendars
from providers.content.fingerprints import Fingerprint
from providers.content.merged_content import MergedContent
from providers.failures import OutcomeUnknown
from providers.mail.merged_mailbox import MergedMailbox
from providers.tasks.accounts import TaskAccounts


class Sealer(Protocol):
    """Encrypts small texts so that they can be handed to clients and recognised again."""

    def seal(self, payload: bytes, *, context: bytes) -> str:
        """Return URL-safe text that only `unseal` with the same *context* opens."""

    def unseal(self, token: str, *, context: bytes) -> bytes:
        """
        Open what `seal` returned.

        Raises:
            ValueError: Damaged, of another context, or not ours.
        """


class RuleIntents(Protocol):
    """
    Where rules are added for what a token makes; see `graph.collab.visibility.auto_rules`.

    An intent is written down before anything is made, and is done when the rule is stored.
    """

    async def intend(self, token_id: int, rule_type: RuleType, trace: Fingerprint) -> int:
        """
        Write down that something is about to be made, and what it will be known by.

        Raises:
            Refusal: The token has as many rules as it may have.
        """

    async def allow(self, intent: int, pattern: str) -> None:
        """Store the allow rule of what was made; the intent is done."""

    async def drop(self, intent: int) -> None:
        """Forget an intent: surely nothing was made."""

    def abandon(self, intent: int) -> None:
        """Leave an intent to whoever looks what became of it: that is not known here."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    Which intent a send belongs to; set by the idempotency layer before the operation runs.

    Attributes:
        message_id: The Message-ID of every try of the intent, without angle brackets.
        maybe_sent: Whether an earlier try may have reached the provider.
    """

    message_id: str
    maybe_sent: bool = False


@dataclass(kw_only=True)
class Context:
    """
    One request. Built once at the door, the same way for REST and GraphQL, never shared.

    Attributes:
        mail: The token's usable mailboxes as one.
        agenda: The token's usable calendars as one.
        tasks: The token's usable task accounts.
        content: The token's usable collaboration content as one.
        rulebook: Where rules are added for what the token makes; None stores none.
        require_all: The caller asked to fail when any provider fails (decisions 5.4).
        delivery: None lets each send take a fresh Message-ID.
        applied_limit: Set when a `limit` above its maximum was lowered.
        etag: Of the one resource that was read, as `If-Match` takes it.
        budget: How many objects may still be returned; None for internal documents.
        plan: That of the running operation; None while graphql-core runs it alone.
        hidden: The schema coordinates this token may not see: "Email.body".
        wait_for_capacity: Awaited before a mutation runs; raises a refusal when the decision log
            has no room for its row. None: the request is not logged.
        trail: What the operator's side may be told afterwards, and the caller never.
        now: The clock; aware, UTC.
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
    delivery: Delivery | None = None
    applied_limit: int | None = None
    etag: str | None = None
    budget: int | None = None
    plan: Plan | None = field(default=None, repr=False)
    wait_for_capacity: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)
    request_log: RequestLog = field(default_factory=RequestLog, repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    hidden: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.hidden = masks.hidden(self.caller.grant)

    def refuse_uncertain_retry(self) -> None:
        """
        Refuse to do again what may have been done, where nothing tells whether it was.

        Raises:
            OutcomeUnknown: An earlier try of the intent may have reached the provider.
        """
        if self.delivery is not None and self.delivery.maybe_sent:
            raise OutcomeUnknown

    @cached_property
    def loaders(self) -> Loaders:
        """The request's data loaders; made inside the event loop."""
        return Loaders(self.mail, alone=self.plan is not None and len(self.plan.roots) == 1)


class Info(StrawberryInfo[Context, None]):
    """What a resolver is given; `context` is the request's `Context`."""

    @property
    def raw(self) -> GraphQLResolveInfo[Context]:
        """graphql-core's own info: what `wanted` reads."""
        return self._raw_info

    def argument_name(self, python_name: str) -> str:
        """Return what callers call the argument that the field's resolver calls *python_name*."""
        named = {one.python_name: one.graphql_name for one in self._field.arguments}
        return named[python_name] or to_camel_case(python_name)
