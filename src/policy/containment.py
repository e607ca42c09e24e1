"""
Containment of grants: the settings by which one grant allows more than another.

A restore uses it to list the tokens that it would widen (docs/spec/management.md#restore).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from policy.grants import BoardScope, Grant, TokenQuota
from policy.vocabulary import CalendarAccessLevel, MaskMode, SearchTotals

Comparison = Callable[[Any, Any], bool]  # (before, after) -> whether after allows more


def widened_settings(before: Grant, after: Grant) -> list[str]:
    """Return the names of the settings by which *after* allows more than *before*, in order."""
    return [
        setting
        for attribute, (setting, allows_more) in COMPARISONS.items()
        if allows_more(getattr(before, attribute), getattr(after, attribute))
    ]


def _flag(before: bool, after: bool) -> bool:  # noqa: FBT001 - a comparison has two operands
    return after and not before


def _words(before: frozenset[Any], after: frozenset[Any]) -> bool:
    return not after <= before


def _restriction(before: frozenset[Any] | None, after: frozenset[Any] | None) -> bool:
    """Compare lists of what is allowed; None is everything."""
    return before is not None and (after is None or not after <= before)


def _limit(before: int | None, after: int | None) -> bool:
    """Compare upper limits; None is no limit."""
    return before is not None and (after is None or after > before)


def _boards(before: tuple[BoardScope, ...] | None, after: tuple[BoardScope, ...] | None) -> bool:
    if before is None:
        return False
    return after is None or not all(
        any(_covers(wider, scope) for wider in before) for scope in after
    )


def _covers(wider: BoardScope, scope: BoardScope) -> bool:
    return (
        wider.board_id == scope.board_id
        and wider.provider in (None, scope.provider)
        and (wider.allow_create or not scope.allow_create)
    )


def _level(before: CalendarAccessLevel, after: CalendarAccessLevel) -> bool:
    levels = list(CalendarAccessLevel)  # declared from the narrowest to the widest
    return levels.index(after) > levels.index(before)


def _mask_mode(before: MaskMode, after: MaskMode) -> bool:
    return (before, after) == (MaskMode.STRICT, MaskMode.BASIC)


def _search_totals(before: SearchTotals, after: SearchTotals) -> bool:
    return (before, after) == (SearchTotals.VISIBLE, SearchTotals.UNFILTERED)


def _quota(before: TokenQuota, after: TokenQuota) -> bool:
    windows = ("per_minute", "per_hour", "per_day")
    return any(_limit(getattr(before, window), getattr(after, window)) for window in windows)


def _never(_before: object, _after: object) -> bool:
    """Compare settings that choose a default and allow nothing."""
    return False


# Attribute of Grant -> name of the setting, and its comparison. A test holds it complete.
COMPARISONS: Mapping[str, tuple[str, Comparison]] = MappingProxyType(
    {
        "email_enabled": ("emailAccessEnabled", _flag),
        "email_operations": ("allowedEmailOperations", _words),
        "visible_email_fields": ("visibleEmailFields", _words),
        "calendar_enabled": ("calendarAccessEnabled", _flag),
        "calendar_level": ("calendarAccessLevel", _level),
        "visible_calendar_fields": ("visibleCalendarFields", _words),
        "past_days": ("timeframePastDays", _limit),
        "future_days": ("timeframeFutureDays", _limit),
        "calendar_ids": ("allowedCalendarIds", _restriction),
        "task_operations": ("allowedTaskOperations", _words),
        "task_boards": ("taskBoards", _boards),
        "visible_task_fields": ("visibleTaskFields", _words),
        "writable_task_fields": ("writableTaskFields", _restriction),
        "default_task_provider": ("defaultTaskProvider", _never),
        "collab_enabled": ("collabAccessEnabled", _flag),
        "collab_operations": ("allowedCollabOperations", _words),
        "collab_allow_all": ("collabAllowAllDefault", _flag),
        "visible_collab_fields": ("visibleCollabFields", _words),
        "collab_search_totals": ("collabSearchTotals", _search_totals),
        "connection_ids": ("allowedConnectionIds", _restriction),
        "mask_mode": ("maskMode", _mask_mode),
        "quota": ("quota", _quota),
    }
)
