"""
`Grant`: the settings of one token, parsed and frozen (docs/spec/tokens.md#settings).

There are two readers. `validate` and `merge` serve the management API: an unknown word is an error,
because a setting must not be dropped silently. `Grant.read` serves requests: an unreadable setting
grants nothing, hides everything and reaches nothing (docs/spec/tokens.md#unreadable-settings).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import TypedDict, TypeVar

import msgspec

from policy import vocabulary
from policy.documents import DocumentRules, read_documents
from policy.recipients import RecipientRules, read_rules
from policy.refusals import Detail, InvalidInput
from policy.settings import DEFAULTS, OF_NEW_TOKENS, READERS, InvalidSetting

Word = TypeVar("Word", bound=StrEnum)


class BoardScope(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `taskBoards`; *provider* None means any provider that has the board."""

    board_id: str
    provider: str | None = None
    allow_create: bool = True


class TokenQuota(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of the token per rolling window; None means no limit."""

    per_minute: int | None = None
    per_hour: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """
    The permissions of one token, one attribute per setting.

    Attributes:
        email_operations, task_operations, collab_operations: Single flags, composites expanded.
        visible_*: The mask words that are visible; all others are hidden.
        calendar_ids, task_boards, connection_ids: None means no restriction, empty means none.
        writable_task_fields: Column ids, or None for all.
        accounts: Grants by which single connections are narrowed, by connection id, lowest first.
        default_task_provider: The meaning of `auto`; None when the connections decide.
        recipients: To whom the token may write; None means to everyone.
        requires_connection: Whether a write must name its account when it could go to several.
        strict_parameters: Whether unknown query parameters are refused unless the call is lenient.
        allow_children: Whether the holder may create child tokens.
        subscriptions: Whether the holder may have URLs called when something changed.
        documents: The only calls that are allowed; None means all.
        documents_log_only: The only calls that are not noted in the decision log; None means all.
    """

    email_enabled: bool
    email_operations: frozenset[vocabulary.EmailOp]
    visible_email_fields: frozenset[vocabulary.EmailField]
    calendar_enabled: bool
    calendar_level: vocabulary.CalendarAccessLevel
    visible_calendar_fields: frozenset[vocabulary.CalendarField]
    past_days: int | None
    future_days: int | None
    calendar_ids: frozenset[int] | None
    task_operations: frozenset[vocabulary.TaskOp]
    task_boards: tuple[BoardScope, ...] | None
    visible_task_fields: frozenset[vocabulary.TaskField]
    writable_task_fields: frozenset[str] | None
    default_task_provider: str | None
    collab_enabled: bool
    collab_operations: frozenset[vocabulary.CollabOp]
    collab_allow_all: bool
    visible_collab_fields: frozenset[vocabulary.CollabField]
    collab_search_totals: vocabulary.SearchTotals
    connection_ids: frozenset[int] | None
    accounts: "Accounts"
    recipients: RecipientRules | None
    send_mode: vocabulary.SendMode
    write_mode: vocabulary.WriteMode
    requires_connection: bool
    agent_tools: vocabulary.AgentTools
    mask_mode: vocabulary.MaskMode
    strict_parameters: bool
    quota: TokenQuota
    allow_children: bool
    subscriptions: bool
    documents: DocumentRules | None
    documents_log_only: DocumentRules | None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = tuple([getattr(self, field.name) for field in fields(self) if field.compare])
        object.__setattr__(self, "_hash", hash(values))

    def __hash__(self) -> int:
        """Return the precomputed hash: every request uses its grant as a key several times."""
        return self._hash

    @classmethod
    def read(cls, settings: Mapping[str, object]) -> "Grant":
        """Read stored *settings*; an unreadable setting takes its closed value."""
        value = MappingProxyType({name: _stored(settings, name) for name in DEFAULTS})
        return cls(
            email_enabled=value["emailAccessEnabled"] is True,
            email_operations=_operations(
                value["allowedEmailOperations"], vocabulary.EMAIL_COMPOSITES, vocabulary.EmailOp
            ),
            visible_email_fields=_visible(value["visibleEmailFields"], vocabulary.EmailField),
            calendar_enabled=value["calendarAccessEnabled"] is True,
            calendar_level=vocabulary.CalendarAccessLevel(str(value["calendarAccessLevel"])),
            visible_calendar_fields=_visible(
                value["visibleCalendarFields"], vocabulary.CalendarField
            ),
            past_days=_number(value["timeframePastDays"]),
            future_days=_number(value["timeframeFutureDays"]),
            calendar_ids=_numbers(value["allowedCalendarIds"]),
            task_operations=_operations(
                value["allowedTaskOperations"], vocabulary.TASK_COMPOSITES, vocabulary.TaskOp
            ),
            task_boards=_boards(value["taskBoards"]),
            visible_task_fields=_visible(value["visibleTaskFields"], vocabulary.TaskField),
            writable_task_fields=_writable(value["writableTaskFields"]),
            default_task_provider=_text(value["defaultTaskProvider"]),
            collab_enabled=value["collabAccessEnabled"] is True,
            collab_operations=_operations(
                value["allowedCollabOperations"], vocabulary.COLLAB_COMPOSITES, vocabulary.CollabOp
            ),
            collab_allow_all=value["collabAllowAllDefault"] is True,
            visible_collab_fields=_visible(value["visibleCollabFields"], vocabulary.CollabField),
            collab_search_totals=vocabulary.SearchTotals(str(value["collabSearchTotals"])),
            connection_ids=_reached(value),
            accounts=_accounts(value["accounts"]),
            recipients=_recipients(value["recipientRules"]),
            send_mode=vocabulary.SendMode(str(value["sendMode"])),
            write_mode=vocabulary.WriteMode(str(value["writes"])),
            requires_connection=value["requireConnection"] is True,
            agent_tools=vocabulary.AgentTools(str(value["agentTools"])),
            mask_mode=vocabulary.MaskMode(str(value["maskMode"])),
            strict_parameters=value["strictParameters"] is True,
            quota=_quota(value["quota"]),
            allow_children=value["allowChildren"] is True,
            subscriptions=value["subscriptionsEnabled"] is True,
            documents=read_documents(value["documents"]),
            documents_log_only=read_documents(value["documentsLogOnly"]),
        )

    def sees(self, field: vocabulary.Field) -> bool:
        """
        Return whether the mask word *field* is visible.

        Words are looked up within their surface: the `labels` of mail and of the calendar are
        equal as text.
        """
        match field:
            case vocabulary.EmailField():
                return field in self.visible_email_fields
            case vocabulary.CalendarField():
                return field in self.visible_calendar_fields
            case vocabulary.TaskField():
                return field in self.visible_task_fields
            case vocabulary.CollabField():
                return field in self.visible_collab_fields


Accounts = tuple[tuple[int, Grant], ...]

# Of an account: what its settings do not name narrows nothing.
_WIDEST: Mapping[str, object] = MappingProxyType(
    {
        "emailAccessEnabled": True,
        "allowedEmailOperations": [vocabulary.ALL],
        "calendarAccessEnabled": True,
        "calendarAccessLevel": vocabulary.CalendarAccessLevel.FULL_ACCESS.value,
        "allowedTaskOperations": [vocabulary.ALL],
        "collabAccessEnabled": True,
        "allowedCollabOperations": [vocabulary.ALL],
        "collabAllowAllDefault": True,
        "agentTools": vocabulary.AgentTools.GRAPH.value,
        "maskMode": vocabulary.MaskMode.BASIC.value,
        "allowChildren": True,
        "subscriptionsEnabled": True,
    }
)


def validate(
    settings: Mapping[str, object], stored: Mapping[str, object] = OF_NEW_TOKENS
) -> dict[str, object]:
    """
    Check the settings object of the management API and fill in the defaults.

    *stored* are those of the token if there is one: of a setting that has another default in new
    tokens, it keeps its value.

    Returns:
        Every setting, in the order of the specification; lists without duplicates, order kept.

    Raises:
        InvalidInput: `VALIDATION_ERROR` with one detail per unknown key or unreadable value.
    """
    unchanged = {name: stored.get(name, DEFAULTS[name]) for name in OF_NEW_TOKENS}
    return merge({**DEFAULTS, **unchanged}, settings)


def merge(stored: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    """
    Change *stored* settings key by key; null resets a key to the default of new tokens.

    Raises:
        InvalidInput: As `validate`.
    """
    details = [
        Detail(f"settings.{name}", "There is no setting with this name.")
        for name in patch
        if name not in DEFAULTS
    ]
    merged = {name: stored.get(name, default) for name, default in DEFAULTS.items()}
    defaults = {**DEFAULTS, **OF_NEW_TOKENS}
    for name, value in patch.items():
        if name in DEFAULTS:
            try:
                merged[name] = defaults[name] if value is None else READERS[name](value)
            except InvalidSetting as error:
                details.append(Detail(f"settings.{name}", str(error)))
    if details:
        message = "The settings are invalid: " + ", ".join(detail.field for detail in details) + "."
        raise InvalidInput(message, code=vocabulary.Code.VALIDATION_ERROR, details=details)
    return merged


class EffectiveOperations(TypedDict):
    """Single operations, in the order of the specification."""

    effectiveEmailOperations: list[str]
    effectiveTaskOperations: list[str]
    effectiveCollabOperations: list[str]


def effective_operations(settings: Mapping[str, object]) -> EffectiveOperations:
    """Expand the composites of *settings*, for display; a surface that is off has none."""
    grant = Grant.read(settings)
    return {
        "effectiveEmailOperations": [
            op for op in vocabulary.EmailOp if grant.email_enabled and op in grant.email_operations
        ],
        "effectiveTaskOperations": [op for op in vocabulary.TaskOp if op in grant.task_operations],
        "effectiveCollabOperations": [
            op
            for op in vocabulary.CollabOp
            if grant.collab_enabled and op in grant.collab_operations
        ],
    }


# Values of unreadable settings: they grant nothing and hide everything.
_CLOSED: Mapping[str, object] = MappingProxyType(
    {
        "emailAccessEnabled": False,
        "allowedEmailOperations": (),
        "visibleEmailFields": (),
        "calendarAccessEnabled": False,
        "calendarAccessLevel": vocabulary.CalendarAccessLevel.FREE_BUSY_ONLY,
        "visibleCalendarFields": (),
        "timeframePastDays": 0,
        "timeframeFutureDays": 0,
        "allowedCalendarIds": (),
        "allowedTaskOperations": (),
        "taskBoards": (),
        "visibleTaskFields": (),
        "writableTaskFields": (),
        "defaultTaskProvider": "",  # not a provider code, so `auto` finds no provider
        "collabAccessEnabled": False,
        "allowedCollabOperations": (),
        "collabAllowAllDefault": False,
        "visibleCollabFields": (),
        "collabSearchTotals": vocabulary.SearchTotals.VISIBLE,
        "allowedConnectionIds": (),
        "accounts": (),
        "recipientRules": MappingProxyType({"allow": (), "block": ()}),
        "sendMode": vocabulary.SendMode.DRAFT,
        "writes": vocabulary.WriteMode.APPROVE,
        "requireConnection": True,
        "agentTools": vocabulary.AgentTools.TOOLS,
        "maskMode": vocabulary.MaskMode.STRICT,
        "strictParameters": True,
        "quota": MappingProxyType({"perMinute": 0}),
        "allowChildren": False,
        "subscriptionsEnabled": False,
        "documents": (),
        "documentsLogOnly": (),
    }
)


def _stored(settings: Mapping[str, object], name: str) -> object:
    if name not in settings:
        return DEFAULTS[name]
    value = settings[name]
    if value is None and DEFAULTS[name] is None:
        return None
    try:
        return READERS[name](value)
    except InvalidSetting:
        return _CLOSED[name]


def _operations(
    flags: object, composites: Mapping[str, tuple[Word, ...]], operations: type[Word]
) -> frozenset[Word]:
    return frozenset(vocabulary.expand(_words(flags), composites, operations))


def _visible(words: object, fields: type[Word]) -> frozenset[Word]:
    listed = frozenset(_words(words))
    return frozenset(field for field in fields if vocabulary.ALL in listed or field.value in listed)


def _words(value: object) -> Sequence[str]:
    return [str(word) for word in value] if isinstance(value, list | tuple) else []


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _numbers(value: object) -> frozenset[int] | None:
    return frozenset(value) if isinstance(value, list | tuple) else None


def _reached(settings: Mapping[str, object]) -> frozenset[int] | None:
    """Read `allowedConnectionIds`; no connection is reached when `accounts` cannot be read."""
    if isinstance(settings["accounts"], Mapping | None):
        return _numbers(settings["allowedConnectionIds"])
    return frozenset()


def _accounts(value: object) -> "Accounts":
    if not isinstance(value, Mapping):
        return ()
    return tuple(
        (int(name), Grant.read({**_WIDEST, **value[name]})) for name in sorted(value, key=int)
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _writable(value: object) -> frozenset[str] | None:
    words = frozenset(_words(value))
    return None if vocabulary.ALL in words else words


def _boards(value: object) -> tuple[BoardScope, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    return tuple(
        BoardScope(
            board_id=entry["boardId"],
            provider=entry.get("provider"),
            allow_create=entry.get("allowCreate", True),
        )
        for entry in value
    )


def _recipients(value: object) -> RecipientRules | None:
    return read_rules(value) if isinstance(value, Mapping) else None


def _quota(value: object) -> TokenQuota:
    if not isinstance(value, Mapping):
        return TokenQuota()
    return TokenQuota(
        per_minute=value.get("perMinute"),
        per_hour=value.get("perHour"),
        per_day=value.get("perDay"),
    )


WIDEST_ACCOUNT = Grant.read(_WIDEST)  # an account that narrows nothing
