"""
Table of the token settings: default and reader of each (docs/spec/tokens.md#settings).

A reader returns the stored form (JSON values only) or raises `InvalidSetting` with a sentence that
is safe to show.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from policy.documents import ANY, SAVED
from policy.recipients import normalize_pattern
from policy.vocabulary import (
    ALL,
    COLLAB_COMPOSITES,
    EMAIL_COMPOSITES,
    READ_ONLY,
    TASK_COMPOSITES,
    AgentTools,
    CalendarAccessLevel,
    CalendarField,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    MaskMode,
    SearchTotals,
    SendMode,
    TaskField,
    TaskOp,
    TaskProvider,
    WriteMode,
)

MAX_WORDS = 1000  # entries of a list: far above any real setting
MAX_DAYS = 36_500  # a century, so that date arithmetic cannot overflow
MAX_LONG = 2**63 - 1
MAX_TEXT = 255  # characters
MAX_REQUESTS = 1_000_000_000  # per quota window
MAX_ACCOUNTS = 100  # in `accounts`

# What `accounts` may narrow (docs/spec/tokens.md#rights-per-account).
ACCOUNT_SETTINGS = (
    "allowedEmailOperations",
    "visibleEmailFields",
    "sendMode",
    "calendarAccessLevel",
    "visibleCalendarFields",
    "timeframePastDays",
    "timeframeFutureDays",
    "allowedCalendarIds",
    "allowedTaskOperations",
    "taskBoards",
    "visibleTaskFields",
    "writableTaskFields",
    "allowedCollabOperations",
    "visibleCollabFields",
    "collabSearchTotals",
    "writes",
    "recipientRules",
)
_CONNECTION_ID = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


class InvalidSetting(ValueError):
    """The value does not fit the setting; the message says what is accepted."""


def boolean(value: object) -> bool:
    """Read a JSON boolean."""
    if not isinstance(value, bool):
        raise InvalidSetting("It must be true or false.")
    return value


def whole_number(maximum: int) -> Callable[[object], int]:
    """Build a reader of whole numbers from 0 to *maximum*."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
            raise InvalidSetting(f"It must be a whole number from 0 to {maximum}.")
        return value

    return read


def one_of(words: type[StrEnum]) -> Callable[[object], str]:
    """Build a reader of a single word of an enum."""
    known = {word.value for word in words}

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            raise InvalidSetting(f"It must be one of: {', '.join(words)}.")
        return value

    return read


def words_of(*known: str) -> Callable[[object], list[str]]:
    """Build a reader of lists of *known* words; duplicates are dropped, order is kept."""
    allowed = frozenset(known)

    def read(value: object) -> list[str]:
        words = texts(value)
        unknown = [word for word in words if word not in allowed]
        if unknown:
            raise InvalidSetting(
                f"Not known: {', '.join(unknown[:10])}. Known: {', '.join(known)}."
            )
        return words

    return read


def texts(value: object) -> list[str]:
    """Read a list of strings; duplicates are dropped, order is kept."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise InvalidSetting("It must be a list of strings.")
    if len(value) > MAX_WORDS:
        raise InvalidSetting(f"It may have {MAX_WORDS} entries at most.")
    return list(dict.fromkeys(value))


def longs(value: object) -> list[int]:
    """Read a list of 64-bit ids; duplicates are dropped, order is kept."""
    read = whole_number(MAX_LONG)
    if not isinstance(value, list | tuple) or len(value) > MAX_WORDS:
        raise InvalidSetting(f"It must be a list of at most {MAX_WORDS} whole numbers.")
    return list(dict.fromkeys(read(number) for number in value))


def text(value: object) -> str:
    """Read a text of at most 255 characters that is not blank."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
        raise InvalidSetting(f"It must be a string of 1 to {MAX_TEXT} characters.")
    return value


def task_provider(value: object) -> str:
    """Read a task provider's code; case does not matter, as in calls."""
    return _CODE(value.strip().upper() if isinstance(value, str) else value)


_CODE = one_of(TaskProvider)


def boards(value: object) -> list[dict[str, object]]:
    """Read `taskBoards`; `allowCreate` is true if it is absent or null."""
    if not isinstance(value, list | tuple) or len(value) > MAX_WORDS:
        raise InvalidSetting(f"It must be a list of at most {MAX_WORDS} objects with a boardId.")
    return [_board(entry) for entry in value]


def _board(value: object) -> dict[str, object]:
    if not isinstance(value, Mapping) or set(value) - {"boardId", "provider", "allowCreate"}:
        raise InvalidSetting("Each board takes boardId, provider and allowCreate, nothing else.")
    board: dict[str, object] = {"boardId": _part("boardId", text, value.get("boardId"))}
    if value.get("provider") is not None:
        board["provider"] = _part("provider", task_provider, value["provider"])
    allow_create = value.get("allowCreate")
    board["allowCreate"] = allow_create is None or _part("allowCreate", boolean, allow_create)
    return board


def quota(value: object) -> dict[str, object]:
    """Read `quota`; null means no limit."""
    windows = ("perMinute", "perHour", "perDay")
    if not isinstance(value, Mapping) or set(value) - set(windows):
        raise InvalidSetting("It takes perMinute, perHour and perDay, nothing else.")
    read = whole_number(MAX_REQUESTS)
    return {name: _part(name, read, value[name]) for name in windows if value.get(name) is not None}


def recipient_rules(value: object) -> dict[str, object]:
    """Read `recipientRules`; patterns are stored in their normal form."""
    if not isinstance(value, Mapping) or set(value) - {"allow", "block"}:
        raise InvalidSetting("It takes allow and block, nothing else.")
    return {
        action: _part(action, _recipient_patterns, value[action])
        if value.get(action) is not None
        else []
        for action in ("allow", "block")
    }


def _recipient_patterns(value: object) -> list[str]:
    normal = {pattern: normalize_pattern(pattern) for pattern in texts(value)}
    unreadable = [pattern for pattern, form in normal.items() if form is None]
    if unreadable:
        raise InvalidSetting(f"Neither an address nor @domain nor *: {', '.join(unreadable[:10])}.")
    return list(dict.fromkeys(form for form in normal.values() if form is not None))


def accounts(value: object) -> dict[str, dict[str, object]]:
    """Read `accounts`: connection id -> settings that narrow the token's; null narrows nothing."""
    if not isinstance(value, Mapping) or len(value) > MAX_ACCOUNTS:
        raise InvalidSetting(f"It must be an object of at most {MAX_ACCOUNTS} connection ids.")
    return {_connection_id(name): _account(name, settings) for name, settings in value.items()}


def _connection_id(name: object) -> str:
    if isinstance(name, str) and _CONNECTION_ID.fullmatch(name) and int(name) <= MAX_LONG:
        return name
    raise InvalidSetting(f"Not a connection id: {str(name)[:40]}.")


def _account(connection: str, settings: object) -> dict[str, object]:
    if not isinstance(settings, Mapping):
        raise InvalidSetting(f"{connection}: It must be an object of settings.")
    unknown = [str(name)[:40] for name in settings if name not in ACCOUNT_SETTINGS]
    if unknown:
        raise InvalidSetting(f"{connection}: An account cannot have {', '.join(unknown[:10])}.")
    return {
        name: _part(f"{connection}.{name}", READERS[name], value)
        for name, value in settings.items()
        if value is not None
    }


def documents(value: object) -> str | list[str]:
    """Read `documents`: `any`, `saved` or names of saved documents."""
    if value in (ANY, SAVED):
        return str(value)
    try:
        return texts(value)
    except InvalidSetting:
        message = f"It must be {ANY}, {SAVED} or a list of at most {MAX_WORDS} names."
        raise InvalidSetting(message) from None


def _part(name: str, read: Callable[[object], object], value: object) -> object:
    """Read a member of a setting; an error message names the member."""
    try:
        return read(value)
    except InvalidSetting as error:
        raise InvalidSetting(f"{name}: {error}") from None


_ROWS: tuple[tuple[str, object, Callable[[object], object]], ...] = (
    ("emailAccessEnabled", False, boolean),
    ("allowedEmailOperations", [READ_ONLY], words_of(*EmailOp, *EMAIL_COMPOSITES)),
    ("visibleEmailFields", [ALL], words_of(*EmailField, ALL)),
    ("calendarAccessEnabled", False, boolean),
    ("calendarAccessLevel", CalendarAccessLevel.VIEW_ONLY.value, one_of(CalendarAccessLevel)),
    ("visibleCalendarFields", [ALL], words_of(*CalendarField, ALL)),
    ("timeframePastDays", None, whole_number(MAX_DAYS)),
    ("timeframeFutureDays", None, whole_number(MAX_DAYS)),
    ("allowedCalendarIds", None, longs),
    ("allowedTaskOperations", [], words_of(*TaskOp, *TASK_COMPOSITES)),
    ("taskBoards", None, boards),
    ("visibleTaskFields", [ALL], words_of(*TaskField, ALL)),
    ("writableTaskFields", [ALL], texts),
    ("defaultTaskProvider", None, task_provider),
    ("collabAccessEnabled", False, boolean),
    ("allowedCollabOperations", [READ_ONLY], words_of(*CollabOp, *COLLAB_COMPOSITES)),
    ("collabAllowAllDefault", False, boolean),
    ("visibleCollabFields", [ALL], words_of(*CollabField, ALL)),
    ("collabSearchTotals", SearchTotals.UNFILTERED.value, one_of(SearchTotals)),
    ("allowedConnectionIds", None, longs),
    ("accounts", None, accounts),
    ("recipientRules", None, recipient_rules),
    ("sendMode", SendMode.DIRECT.value, one_of(SendMode)),
    ("writes", WriteMode.DIRECT.value, one_of(WriteMode)),
    ("requireConnection", False, boolean),
    ("agentTools", AgentTools.TOOLS.value, one_of(AgentTools)),
    ("maskMode", MaskMode.STRICT.value, one_of(MaskMode)),
    ("strictParameters", False, boolean),
    ("quota", None, quota),
    ("allowChildren", False, boolean),
    ("subscriptionsEnabled", False, boolean),
    ("documents", ANY, documents),
    ("documentsLogOnly", ANY, documents),
)

DEFAULTS: Mapping[str, object] = MappingProxyType({name: default for name, default, _ in _ROWS})
# Settings of new tokens; `DEFAULTS` has what their absence means in tokens of earlier versions.
OF_NEW_TOKENS: Mapping[str, object] = MappingProxyType({"strictParameters": True})
READERS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {name: reader for name, _, reader in _ROWS}
)
