"""
Exceptions for what a caller may not do.

    Refusal
    ├── Unauthenticated        401  the bearer token is missing or not valid
    ├── TooManyRequests        429  a rate window of the caller is full
    ├── SurfaceNotEnabled      422  the surface's switch is off
    ├── NoSuchProvider         422  no connection of this kind within the token's reach
    ├── OperationNotAllowed    403  a flag is missing (422 on collab)
    ├── InvalidInput           400  wrong parameters or body; the code says which
    │   ├── NoDryRun                 the call cannot be run dry
    │   └── AmbiguousAccount         (policy.accounts) a write names none of several accounts
    ├── NoUsableConnection     403  connections exist, but none may be used
    ├── ReadOnlyConnection     403  the connection has read scopes only
    ├── AccessDenied           403  outside the token's scope; the code says which
    │   ├── OutsideTimeframe         an event
    │   ├── OutsideBoards            a board, or an item of it
    │   ├── NoWritableFields         no named column of an item may be written
    │   ├── ChildrenNotAllowed       the token may not create child tokens
    │   ├── SubscriptionsNotAllowed  (policy.gates) the token may not subscribe to changes
    │   └── WiderThanParent          a child token would allow more than its parent
    ├── RecipientNotAllowed    403  the token's recipient rules exclude a recipient of the write
    ├── FieldNotVisible        403  a filter, sort or forward that would reveal a masked field
    ├── Blocked                404  a collab rule, or the block-all default
    ├── NotFound               404  the token sees no such resource
    │   └── OutsideCalendars         a calendar that the token does not see, or its event
    ├── EffectRequired         428  the token writes only with the digest of the effect
    ├── WriteHeld              202  (graph.effects) a person has to release the write first
    └── Conflict               409, 412, 413, 422: the current state forbids it

A refusal is a normal response, not a fault (ADR 0003): it carries a code, a sentence that is
safe to show, and what `policy.remedies` needs; it never reaches the error log. Only `graph.errors`
decides the status. Codes are specified in docs/spec/errors.md#codes-and-statuses.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Any

import msgspec

from policy.counts import counted, listed
from policy.recipients import Recipient
from policy.rule_facts import Facts
from policy.vocabulary import (
    LAYER_BY_CODE,
    Code,
    Field,
    Layer,
    Operation,
    Surface,
    UnauthorizedReason,
)


class Detail(msgspec.Struct, frozen=True):
    """A detail of a 400: the dotted path of the field ("to[0].email") and what is wrong with it."""

    field: str
    message: str


class Refusal(Exception):
    """
    Base class. `details`, `required_operations` and `reason` are shown when set.

    `rule_id` is the collab rule that decided. Only operators see it and `layer`; callers never do.
    """

    code: Code

    def __init__(
        self, message: str, *, code: Code | None = None, layer: Layer | None = None
    ) -> None:
        """*layer* overrides the layer of the code."""
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self._layer = layer
        self.rule_id: int | None = None
        self.details: tuple[Detail, ...] = ()
        self.required_operations: tuple[str, ...] = ()  # alternatives
        self.reason: str | None = None
        self.connected_providers: tuple[str, ...] = ()
        self.accounts: tuple[tuple[int, str], ...] = ()  # ids and addresses of those to choose from
        self.rejected_fields: tuple[str, ...] = ()
        self.created: Mapping[str, str] = {}  # ids of resources created all the same, by member
        self.effect: Mapping[str, Any] | None = None  # of the refused write, for its caller
        self.held: Mapping[str, Any] | None = None  # what waits for a person, for its caller

    @property
    def layer(self) -> Layer:
        """The layer of docs/spec/errors.md#layers-of-codes that refuses."""
        return self._layer or LAYER_BY_CODE[self.code]


class Unauthenticated(Refusal):
    code = Code.UNAUTHENTICATED

    def __init__(self, reason: UnauthorizedReason) -> None:
        super().__init__(_UNAUTHENTICATED[reason])
        self.reason = reason.value


_UNAUTHENTICATED = {
    UnauthorizedReason.MISSING_HEADER: "An Authorization header with a bearer token is required.",
    UnauthorizedReason.MALFORMED_HEADER: "The Authorization header is not 'Bearer <token>'.",
    UnauthorizedReason.UNKNOWN_TOKEN: "This access token is unknown.",
    UnauthorizedReason.REVOKED: "This access token has been revoked.",
    UnauthorizedReason.EXPIRED: "This access token has expired.",
    UnauthorizedReason.WRONG_AUDIENCE: "This access token was granted for another address.",
}


class TooManyRequests(Refusal):
    """*retry_after* is in whole seconds, at least 1."""

    code = Code.RATE_LIMITED

    def __init__(self, retry_after: int, *, layer: Layer | None = None) -> None:
        wait = counted(retry_after, "second")
        super().__init__(f"Too many requests. Try again in {wait}.", layer=layer)
        self.retry_after = retry_after


class DocumentNotAllowed(Refusal):
    """
    The token runs saved documents only, and the call runs none that it may run.

    The message is the same whether a document exists or not. *names* are those of the documents
    that the call runs.
    """

    code = Code.DOCUMENT_NOT_ALLOWED

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            "This token runs saved documents only, and this call runs none that it allows."
        )
        self.names = tuple(names)


class SurfaceNotEnabled(Refusal):
    def __init__(self, surface: Surface) -> None:
        super().__init__(
            f"This token has no {surface} access: {surface}AccessEnabled is false.",
            code=_NOT_ENABLED[surface],
        )
        self.surface = surface


_NOT_ENABLED = {
    Surface.EMAIL: Code.EMAIL_NOT_ENABLED,
    Surface.CALENDAR: Code.CALENDAR_NOT_ENABLED,
    Surface.COLLAB: Code.COLLAB_NOT_ENABLED,
}


class NoSuchProvider(Refusal):
    def __init__(self, surface: Surface) -> None:
        super().__init__(
            f"The token's operator has no {surface} connection on any of the token's resources.",
            code=_NO_SUCH_PROVIDER[surface],
        )


_NO_SUCH_PROVIDER = {
    Surface.EMAIL: Code.NO_EMAIL_PROVIDER,
    Surface.CALENDAR: Code.NO_CALENDAR_PROVIDER,
    Surface.TASKS: Code.NO_TASK_PROVIDER,
    Surface.COLLAB: Code.NO_COLLAB_PROVIDER,
}


class OperationNotAllowed(Refusal):
    """The token lacks a required flag; one of *operations* would suffice."""

    code = Code.OPERATION_NOT_ALLOWED

    def __init__(self, *operations: Operation) -> None:
        super().__init__(f"This token does not allow {' or '.join(operations)}.")
        self.required_operations = tuple(operation.value for operation in operations)
        self.operations = operations


class InvalidInput(Refusal):
    """Parameters or body are wrong; *code* is `INVALID_PARAMETER` by default."""

    code = Code.INVALID_PARAMETER

    def __init__(
        self, message: str, *, code: Code | None = None, details: Iterable[Detail] = ()
    ) -> None:
        super().__init__(message, code=code)
        self.details = tuple(details)


class NoDryRun(InvalidInput):
    """A dry run or an effect is asked for of a call that has none."""


class NoUsableConnection(Refusal):
    code = Code.NO_PROVIDER

    def __init__(self, surface: Surface, dead: Sequence[tuple[str, str | None]] = ()) -> None:
        """*dead*: the accounts that stopped working, as texts, and their reconnect links."""
        head = f"Every {surface} connection of this token is inactive or excluded by its settings."
        in_full = [f"{name}. Reconnect: {link}" if link else f"{name}." for name, link in dead]
        names = [name for name, _ in dead]
        super().__init__(listed(head, names, in_full=in_full) if dead else head)


class ReadOnlyConnection(Refusal):
    code = Code.READ_ONLY

    def __init__(self) -> None:
        super().__init__("The connection has only read scopes, so nothing can be changed with it.")


class AccessDenied(Refusal):
    code = Code.ACCESS_DENIED


class OutsideTimeframe(AccessDenied):
    """The event from *start* to *end* (UTC) lies outside the token's window."""

    code = Code.TIMEFRAME_DENIED

    def __init__(self, start: datetime, end: datetime) -> None:
        super().__init__("The event lies outside the time window of this token.")
        self.start = start
        self.end = end


class OutsideBoards(AccessDenied):
    """None of *board_ids* of *provider* is in scope; *to_create*: for creating items."""

    def __init__(
        self, provider: str, board_ids: Iterable[str] = (), *, to_create: bool = False
    ) -> None:
        super().__init__(
            "This token may not create items on this board."
            if to_create
            else "This board is outside this token's scope."
        )
        self.provider = provider
        self.board_ids = tuple(board_ids)
        self.to_create = to_create


class NoWritableFields(AccessDenied):
    """*rejected* are the named columns; the settings alone forbid to write *columns*."""

    code = Code.NO_WRITABLE_FIELDS

    def __init__(self, columns: Iterable[str], *, rejected: Iterable[str] = ()) -> None:
        super().__init__("None of these fields can be set with this token.")
        self.rejected_fields = tuple(rejected)
        self.columns = tuple(columns)


class ChildrenNotAllowed(AccessDenied):
    """*allowed*: `allowChildren` is true, but the token has too many ancestors."""

    def __init__(self, *, allowed: bool) -> None:
        why = "it has the most ancestors" if allowed else "allowChildren is false"
        super().__init__(f"This token may not create child tokens: {why}.", layer=Layer.OPERATION)
        self.allowed = allowed


class WiderThanParent(AccessDenied):
    """A child token would allow more than its parent, by *members* of the request."""

    def __init__(self, members: Iterable[str]) -> None:
        details = tuple(Detail(member, "This allows more than the token.") for member in members)
        names = ", ".join(detail.field for detail in details)
        super().__init__(f"A child token may not allow more than the token itself: {names}.")
        self.details = details


class RecipientNotAllowed(Refusal):
    """
    The token's recipient rules exclude *rejected*.

    The recipients that the caller named are shown, the derived ones are counted.
    """

    code = Code.RECIPIENT_NOT_ALLOWED

    def __init__(self, rejected: Iterable[Recipient]) -> None:
        self.rejected = tuple(rejected)
        named = [recipient for recipient in self.rejected if recipient.path is not None]
        addresses = [recipient.address for recipient in named if recipient.address is not None]
        others = len(self.rejected) - len(addresses)
        count = f"{others} other recipients" if others > 1 else "another recipient"
        texts = [", ".join(addresses)] if addresses else []
        if others:
            texts.append(count)
        super().__init__(f"This token may not write to {' and '.join(texts)}.")
        self.details = tuple(
            Detail(recipient.path, "This token may not write to this recipient.")
            for recipient in named
            if recipient.path is not None
        )


class FieldNotVisible(Refusal):
    """
    A feature would reveal hidden fields.

    *feature* is the subject of the message ("The filter 'from'"), *fields* are the hidden mask
    words. With *any_of*, one visible field would suffice; otherwise all must be visible.
    """

    code = Code.FIELD_NOT_VISIBLE

    def __init__(self, feature: str, *fields: Field, any_of: bool = False) -> None:
        hidden = ", ".join(f"'{field}'" for field in fields)
        super().__init__(f"{feature} would reveal a field that this token may not see: {hidden}.")
        self.fields = fields
        self.any_of = any_of


class BlockedAction(Enum):
    """The action that the caller tried on the blocked resource."""

    READ = auto()
    LIST_CHILDREN = auto()
    CREATE_CHILD = auto()
    CHANGE_TREE = auto()  # the resource with everything below it


class Blocked(Refusal):
    """
    A collab rule, or the lack of an allow rule, hides a resource.

    Attributes:
        rule_id: The block rule that decided; None when no rule allows the resource.
        facts: What was known of it; None when nothing was.
        child: What was known of a resource to be created in it.
    """

    code = Code.BLOCKED

    def __init__(
        self,
        rule_id: int | None = None,
        *,
        action: BlockedAction = BlockedAction.READ,
        facts: Facts | None = None,
        child: Facts | None = None,
    ) -> None:
        super().__init__("This token's rules do not allow this resource.")
        self.rule_id = rule_id
        self.action = action
        self.facts = facts
        self.child = child


class NotFound(Refusal):
    code = Code.NOT_FOUND


class OutsideCalendars(NotFound):
    """The token sees no calendar *calendar_id*; *code* says whether an event was asked for."""

    def __init__(self, message: str, *, code: Code, calendar_id: int) -> None:
        super().__init__(message, code=code, layer=Layer.SCOPE)
        self.calendar_id = calendar_id


class Conflict(Refusal):
    """*code* is required: `NAME_CONFLICT`, `PRECONDITION_FAILED`, `PAYLOAD_TOO_LARGE`, …"""


class EffectChanged(Conflict):
    """The write would have another effect than `If-Effect` names; nothing was written."""

    code = Code.EFFECT_CHANGED

    def __init__(self) -> None:
        super().__init__(
            "The effect of the call has changed since the dry run: repeat the dry run."
        )


class EffectRequired(Refusal):
    """The token writes only with the digest of *effect* in `If-Effect`; nothing was written."""

    code = Code.EFFECT_REQUIRED

    def __init__(self, effect: Mapping[str, Any]) -> None:
        super().__init__(
            "This token writes only what was shown before: send effect.digest as If-Effect with "
            "the same call, if the effect is the intended one."
        )
        self.effect = effect
