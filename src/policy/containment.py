"""
Containment of grants: by which settings one grant allows more than another, and what both allow.

A restore lists the tokens that it would widen (docs/spec/management.md#restore), `policy diff` says
of each change whether it widens (docs/spec/management.md#policy-differences), and a child token has
the meet of its own grant and those of its ancestors (docs/spec/child-tokens.md#containment).
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from policy.documents import DocumentRules, stored_form
from policy.grants import WIDEST_ACCOUNT, Accounts, BoardScope, Grant, TokenQuota
from policy.recipients import EVERYBODY, RecipientRules
from policy.vocabulary import (
    AgentTools,
    CalendarAccessLevel,
    MaskMode,
    RuleAction,
    SearchTotals,
    SendMode,
    TaskProvider,
    WriteMode,
)

Rules = TypeVar("Rules", RecipientRules, DocumentRules)


class SettingAlgebra(NamedTuple):
    """
    Order of the values of one setting.

    Attributes:
        setting: Its name.
        allows_more: (before, after) -> whether after allows something that before does not.
        meet: (own, ceiling) -> the value that allows exactly what both allow.
    """

    setting: str
    allows_more: Callable[[Any, Any], bool]
    meet: Callable[[Any, Any], Any]


class Direction(StrEnum):
    """
    Direction of a change of what is allowed.

    `NEITHER`: it allows as much as before, or more of one thing and less of another.
    """

    NARROWER = "narrower"
    WIDER = "wider"
    NEITHER = "neither"


def direction(*, widens: bool, narrows: bool) -> Direction:
    """Return the direction of a change that allows more, or less, of something than before."""
    if widens == narrows:
        return Direction.NEITHER
    return Direction.WIDER if widens else Direction.NARROWER


def directions_of_settings(before: Grant, after: Grant) -> Mapping[str, Direction]:
    """Return the direction of every setting."""
    widened, narrowed = widened_settings(before, after), widened_settings(after, before)
    return {
        setting: direction(widens=setting in widened, narrows=setting in narrowed)
        for setting, *_ in SETTINGS.values()
    }


def direction_of_set(before: AbstractSet[Any], after: AbstractSet[Any]) -> Direction:
    """Return the direction of a change of things that are allowed."""
    return direction(widens=not after <= before, narrows=not before <= after)


def direction_of_end(before: int | None, after: int | None) -> Direction:
    """Return the direction of a moved end of a token; None means no end."""
    return direction(widens=_limit(before, after), narrows=_limit(after, before))


def direction_of_rule(action: str, *, added: bool) -> Direction:
    """Return the direction of an added or removed rule; a block rule wins over all others."""
    return Direction.WIDER if (action == RuleAction.ALLOW) == added else Direction.NARROWER


def widened_settings(before: Grant, after: Grant) -> list[str]:
    """Return the names of the settings by which *after* allows more than *before*, in order."""
    return [
        setting
        for attribute, (setting, allows_more, _) in SETTINGS.items()
        if allows_more(getattr(before, attribute), getattr(after, attribute))
    ]


def meet(own: Grant, ceilings: Iterable[Grant]) -> Grant:
    """Return the grant that allows exactly what *own* and all of *ceilings* allow."""
    for ceiling in ceilings:
        own = Grant(
            **{
                attribute: row.meet(getattr(own, attribute), getattr(ceiling, attribute))
                for attribute, row in SETTINGS.items()
            }
        )
    return own


def narrowed_settings(
    stored: Mapping[str, object], own: Grant, narrower: Grant
) -> dict[str, object]:
    """
    Return *stored* settings, which read as *own*, with those replaced that *narrower* narrows.

    The result reads as *narrower*, which is a meet of *own*.
    """
    narrowed = set(widened_settings(narrower, own))
    return {
        **stored,
        **{
            row.setting: _stored_form(getattr(narrower, attribute))
            for attribute, row in SETTINGS.items()
            if row.setting in narrowed
        },
    }


def _stored_form(value: Any) -> object:
    """Return the JSON form of an attribute of a grant that is narrower than another."""
    match value:
        case frozenset():
            return sorted(value)
        case RecipientRules():
            return {"allow": sorted(value.allow), "block": sorted(value.block)}
        case DocumentRules():
            return stored_form(value)
        case ((int(), Grant()), *_):
            return _stored_accounts(value)
        case tuple():
            return [
                {"boardId": scope.board_id, "allowCreate": scope.allow_create}
                | ({"provider": scope.provider} if scope.provider else {})
                for scope in value
            ]
        case StrEnum():
            return value.value
    return value


def _stored_accounts(accounts: Accounts) -> dict[str, object]:
    return {
        str(connection): narrowed_settings({}, WIDEST_ACCOUNT, grant)
        for connection, grant in accounts
    }


# -- what allows more ----------------------------------------------------------------------------


def _flag(before: bool, after: bool) -> bool:  # noqa: FBT001 - a comparison has two operands
    return after and not before


def _demand(before: bool, after: bool) -> bool:  # noqa: FBT001 - a comparison has two operands
    """Compare settings that are narrower when they are true."""
    return before and not after


def _words(before: frozenset[Any], after: frozenset[Any]) -> bool:
    return not after <= before


def _restriction(before: frozenset[Any] | None, after: frozenset[Any] | None) -> bool:
    """Compare lists of what is allowed; None is everything."""
    return before is not None and (after is None or not after <= before)


def _limit(before: int | None, after: int | None) -> bool:
    """Compare upper limits; None means no limit."""
    return before is not None and (after is None or after > before)


def _boards(before: tuple[BoardScope, ...] | None, after: tuple[BoardScope, ...] | None) -> bool:
    if before is None:
        return False
    return after is None or not _reached_boards(after) <= _reached_boards(before)


def _reached_boards(scopes: tuple[BoardScope, ...]) -> AbstractSet[tuple[str, str, bool]]:
    """Return (board, provider, whether to create) for everything that *scopes* allow."""
    return {
        (scope.board_id, provider, creates)
        for scope in scopes
        for provider in ([scope.provider] if scope.provider else TaskProvider)
        for creates in ([False, True] if scope.allow_create else [False])
    }


def _recipients(before: RecipientRules | None, after: RecipientRules | None) -> bool:
    return not (after or EVERYBODY).allows_no_more_than(before or EVERYBODY)


def _documents(before: DocumentRules | None, after: DocumentRules | None) -> bool:
    if before is None:
        return False
    return after is None or not after.allows_no_more_than(before)


def _accounts(before: Accounts, after: Accounts) -> bool:
    """Compare account by account; one that is not there narrows nothing."""
    then = dict(after)
    return any(
        widened_settings(grant, then.get(connection, WIDEST_ACCOUNT))
        for connection, grant in before
    )


def _level(before: CalendarAccessLevel, after: CalendarAccessLevel) -> bool:
    levels = list(CalendarAccessLevel)  # declared from the narrowest to the widest
    return levels.index(after) > levels.index(before)


def _wider_writes(before: WriteMode, after: WriteMode) -> bool:
    modes = list(WriteMode)  # declared from the widest to the narrowest
    return modes.index(after) < modes.index(before)


def _quota(before: TokenQuota, after: TokenQuota) -> bool:
    windows = ("per_minute", "per_hour", "per_day")
    return any(_limit(getattr(before, window), getattr(after, window)) for window in windows)


def _never(_before: object, _after: object) -> bool:
    """Compare settings that choose a default or a way of refusing, and allow nothing."""
    return False


# -- what both allow -----------------------------------------------------------------------------


def _both(own: bool, ceiling: bool) -> bool:  # noqa: FBT001 - a meet has two operands
    return own and ceiling


def _either(own: bool, ceiling: bool) -> bool:  # noqa: FBT001 - a meet has two operands
    return own or ceiling


def _common_words(own: frozenset[Any], ceiling: frozenset[Any]) -> frozenset[Any]:
    return own & ceiling


def _common_list(
    own: frozenset[Any] | None, ceiling: frozenset[Any] | None
) -> frozenset[Any] | None:
    if own is None or ceiling is None:
        return ceiling if own is None else own
    return own & ceiling


def _lower_limit(own: int | None, ceiling: int | None) -> int | None:
    limits = [limit for limit in (own, ceiling) if limit is not None]
    return min(limits, default=None)


def _common_boards(
    own: tuple[BoardScope, ...] | None, ceiling: tuple[BoardScope, ...] | None
) -> tuple[BoardScope, ...] | None:
    if own is None or ceiling is None:
        return ceiling if own is None else own
    reached = _reached_boards(own) & _reached_boards(ceiling)
    if reached == _reached_boards(own):
        return own
    return tuple(
        BoardScope(
            board_id=board, provider=provider, allow_create=(board, provider, True) in reached
        )
        for board, provider in sorted({(board, provider) for board, provider, _ in reached})
    )


def _common_rules(own: Rules | None, ceiling: Rules | None) -> Rules | None:
    if own is None or ceiling is None:
        return ceiling if own is None else own
    return own.intersection(ceiling)


def _common_accounts(own: Accounts, ceiling: Accounts) -> Accounts:
    both = dict(own)
    for connection, grant in ceiling:
        both[connection] = meet(both[connection], [grant]) if connection in both else grant
    return tuple(sorted(both.items(), key=itemgetter(0)))


def _lower_level(own: CalendarAccessLevel, ceiling: CalendarAccessLevel) -> CalendarAccessLevel:
    return ceiling if _level(ceiling, own) else own


def _narrower_writes(own: WriteMode, ceiling: WriteMode) -> WriteMode:
    return ceiling if _wider_writes(ceiling, own) else own


def _own(own: Any, _ceiling: object) -> Any:
    """Keep the token's own value: a default, or a quota that its ancestors' count beside."""
    return own


def _mode(setting: str, narrow: StrEnum) -> SettingAlgebra:
    """Return the algebra of a setting of two words, of which *narrow* allows less."""
    return SettingAlgebra(
        setting,
        lambda before, after: before is narrow and after is not narrow,
        lambda own, ceiling: narrow if narrow in {own, ceiling} else own,
    )


# Attribute of Grant -> its setting. A test holds it complete.
SETTINGS: Mapping[str, SettingAlgebra] = MappingProxyType(
    {
        "email_enabled": SettingAlgebra("emailAccessEnabled", _flag, _both),
        "email_operations": SettingAlgebra("allowedEmailOperations", _words, _common_words),
        "visible_email_fields": SettingAlgebra("visibleEmailFields", _words, _common_words),
        "calendar_enabled": SettingAlgebra("calendarAccessEnabled", _flag, _both),
        "calendar_level": SettingAlgebra("calendarAccessLevel", _level, _lower_level),
        "visible_calendar_fields": SettingAlgebra("visibleCalendarFields", _words, _common_words),
        "past_days": SettingAlgebra("timeframePastDays", _limit, _lower_limit),
        "future_days": SettingAlgebra("timeframeFutureDays", _limit, _lower_limit),
        "calendar_ids": SettingAlgebra("allowedCalendarIds", _restriction, _common_list),
        "task_operations": SettingAlgebra("allowedTaskOperations", _words, _common_words),
        "task_boards": SettingAlgebra("taskBoards", _boards, _common_boards),
        "visible_task_fields": SettingAlgebra("visibleTaskFields", _words, _common_words),
        "writable_task_fields": SettingAlgebra("writableTaskFields", _restriction, _common_list),
        "default_task_provider": SettingAlgebra("defaultTaskProvider", _never, _own),
        "collab_enabled": SettingAlgebra("collabAccessEnabled", _flag, _both),
        "collab_operations": SettingAlgebra("allowedCollabOperations", _words, _common_words),
        "collab_allow_all": SettingAlgebra("collabAllowAllDefault", _flag, _both),
        "visible_collab_fields": SettingAlgebra("visibleCollabFields", _words, _common_words),
        "collab_search_totals": _mode("collabSearchTotals", SearchTotals.VISIBLE),
        "connection_ids": SettingAlgebra("allowedConnectionIds", _restriction, _common_list),
        "accounts": SettingAlgebra("accounts", _accounts, _common_accounts),
        "recipients": SettingAlgebra("recipientRules", _recipients, _common_rules),
        "send_mode": _mode("sendMode", SendMode.DRAFT),
        "write_mode": SettingAlgebra("writes", _wider_writes, _narrower_writes),
        "requires_connection": SettingAlgebra("requireConnection", _demand, _either),
        "agent_tools": _mode("agentTools", AgentTools.TOOLS),
        "mask_mode": _mode("maskMode", MaskMode.STRICT),
        "strict_parameters": SettingAlgebra("strictParameters", _never, _own),
        "quota": SettingAlgebra("quota", _quota, _own),
        "allow_children": SettingAlgebra("allowChildren", _flag, _both),
        "subscriptions": SettingAlgebra("subscriptionsEnabled", _flag, _both),
        "documents": SettingAlgebra("documents", _documents, _common_rules),
        "documents_log_only": SettingAlgebra("documentsLogOnly", _documents, _common_rules),
    }
)
