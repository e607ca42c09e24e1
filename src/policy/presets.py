"""
Presets: named settings of a token (docs/spec/tokens.md#presets).

A person signs a client in with what a preset hands on of a token (docs/spec/sign-in.md#presets).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from policy import describe, vocabulary
from policy.containment import meet, narrowed_settings
from policy.grants import Grant
from policy.settings import DEFAULTS, OF_NEW_TOKENS
from policy.vocabulary import (
    ALL,
    READ_ONLY,
    CalendarAccessLevel,
    EmailOp,
    SendMode,
    Surface,
    TaskOp,
    WriteMode,
)


class Preset(StrEnum):
    """The name of a preset."""

    READER = "reader"
    DRAFTS = "drafts"
    SENDER = "sender"
    CALENDAR_BUSY = "calendar-busy"
    TASKS = "tasks"
    FILES_READER = "files-reader"
    FULL = "full"


class AgentPreset(StrEnum):
    """The name of a preset for an agent (docs/spec/agents.md#presets)."""

    READER = "reader"
    MAILBOX_ASSISTANT = "mailbox-assistant"
    SUPERVISED = "supervised"
    FULL = "full"


class PresetSettings(NamedTuple):
    """The purpose of a preset as a sentence, and the settings that differ from the defaults."""

    sentence: str
    settings: Mapping[str, object]


_EMAIL_READER: Mapping[str, object] = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": [READ_ONLY],
}
_FILES_READER: Mapping[str, object] = {
    "collabAccessEnabled": True,
    "allowedCollabOperations": [READ_ONLY],
    "collabAllowAllDefault": True,
}
_WRITES_MAIL = [EmailOp.SEND_EMAIL.value, EmailOp.REPLY_TO_EMAIL.value, EmailOp.FORWARD_EMAIL.value]
_DRAFTS = [EmailOp.VIEW_DRAFTS.value, EmailOp.WRITE_DRAFTS.value]
_WRITES_TASKS = [TaskOp.CREATE_ITEMS.value, TaskOp.UPDATE_ITEMS.value, TaskOp.ADD_COMMENTS.value]

PRESETS: Mapping[Preset, PresetSettings] = MappingProxyType(
    {
        Preset.READER: PresetSettings(
            "Reads mail, events, tasks and files, and changes nothing.",
            {
                **_EMAIL_READER,
                "calendarAccessEnabled": True,
                "calendarAccessLevel": CalendarAccessLevel.VIEW_ONLY.value,
                "allowedTaskOperations": [READ_ONLY],
                **_FILES_READER,
            },
        ),
        Preset.DRAFTS: PresetSettings(
            "Reads mail; its messages, replies and forwards are drafts, which a person sends.",
            {
                **_EMAIL_READER,
                "allowedEmailOperations": [READ_ONLY, *_WRITES_MAIL, *_DRAFTS],
                "sendMode": SendMode.DRAFT.value,
            },
        ),
        Preset.SENDER: PresetSettings(
            "Sends new messages, and reads nothing.",
            {"emailAccessEnabled": True, "allowedEmailOperations": [EmailOp.SEND_EMAIL.value]},
        ),
        Preset.CALENDAR_BUSY: PresetSettings(
            "Sees when the calendars are busy, and no event.",
            {
                "calendarAccessEnabled": True,
                "calendarAccessLevel": CalendarAccessLevel.FREE_BUSY_ONLY.value,
            },
        ),
        Preset.TASKS: PresetSettings(
            "Reads boards, creates, changes and comments on their items, and deletes nothing.",
            {"allowedTaskOperations": [READ_ONLY, *_WRITES_TASKS]},
        ),
        Preset.FILES_READER: PresetSettings(
            "Reads sites, lists and files, and changes nothing.", _FILES_READER
        ),
        Preset.FULL: PresetSettings(
            "Reads and changes everything that the accounts hold.",
            {
                "emailAccessEnabled": True,
                "allowedEmailOperations": [ALL],
                "calendarAccessEnabled": True,
                "calendarAccessLevel": CalendarAccessLevel.FULL_ACCESS.value,
                "allowedTaskOperations": [ALL],
                "collabAccessEnabled": True,
                "allowedCollabOperations": [ALL],
                "collabAllowAllDefault": True,
            },
        ),
    }
)

# Of agents: their writes name the account when there are several.
_NAMED: Mapping[str, object] = {"requireConnection": True}
_SHOWN_FIRST: Mapping[str, object] = {**_NAMED, "writes": WriteMode.EFFECT.value}

AGENT_PRESETS: Mapping[AgentPreset, PresetSettings] = MappingProxyType(
    {
        AgentPreset.READER: PresetSettings(
            PRESETS[Preset.READER].sentence, {**PRESETS[Preset.READER].settings, **_NAMED}
        ),
        AgentPreset.MAILBOX_ASSISTANT: PresetSettings(
            "Reads and files mail, and writes drafts; every write is shown first.",
            {
                **_EMAIL_READER,
                "allowedEmailOperations": [
                    READ_ONLY,
                    *_WRITES_MAIL,
                    *_DRAFTS,
                    EmailOp.MARK_AS_READ.value,
                    EmailOp.APPLY_LABELS.value,
                ],
                "sendMode": SendMode.DRAFT.value,
                **_SHOWN_FIRST,
            },
        ),
        AgentPreset.SUPERVISED: PresetSettings(
            "Reads everything that the accounts hold; every write waits for a person's release.",
            {**PRESETS[Preset.FULL].settings, **_NAMED, "writes": WriteMode.APPROVE.value},
        ),
        AgentPreset.FULL: PresetSettings(
            "Reads and changes everything that the accounts hold; every write is shown first.",
            {**PRESETS[Preset.FULL].settings, **_SHOWN_FIRST},
        ),
    }
)

# -- what a preset hands on of a token ------------------------------------------------------------

_NAMES: Mapping[Surface, str] = MappingProxyType(
    {
        Surface.EMAIL: "Mail",
        Surface.CALENDAR: "Calendars",
        Surface.TASKS: "Tasks",
        Surface.COLLAB: "Files and lists",
    }
)


def presets_for(*, agents: bool) -> Mapping[str, PresetSettings]:
    """Return the presets by name; those for *agents* take the place of others of their name."""
    named = {str(name): preset for name, preset in PRESETS.items()}
    return {**named, **{str(name): preset for name, preset in AGENT_PRESETS.items() if agents}}


def settings_within(
    wanted: Mapping[str, object], ceiling: Mapping[str, object]
) -> dict[str, object]:
    """
    Return the settings *wanted*, narrowed to what a token with the settings *ceiling* allows.

    The quota is the token's. Collab content is left to the rules of the token, which count for its
    children. Children are not allowed.
    """
    handed = {**DEFAULTS, **OF_NEW_TOKENS, **wanted, "allowChildren": False}
    own = Grant.read(handed)
    narrowed = narrowed_settings(handed, own, meet(own, [Grant.read(ceiling)]))
    quota = ceiling.get("quota", DEFAULTS["quota"])
    return {**narrowed, "quota": quota, "collabAllowAllDefault": True}


def allows_something(settings: Mapping[str, object]) -> bool:
    """Return whether *settings* allow any operation."""
    grant = Grant.read(settings)
    return any(_operations(surface, grant) for surface in Surface)


def differences(settings: Mapping[str, object], ceiling: Mapping[str, object]) -> list[str]:
    """Return a sentence for each surface: what *settings* hand on of *ceiling*, and what not."""
    own, whole = Grant.read(settings), Grant.read(ceiling)
    return [sentence for surface in Surface for sentence in _difference(surface, own, whole)]


def sentences(settings: Mapping[str, object]) -> list[str]:
    """Return a sentence for each surface: what *settings* allow on it, and how it is narrowed."""
    grant = Grant.read(settings)
    return [_sentence(surface, grant) for surface in Surface]


def _sentence(surface: Surface, grant: Grant) -> str:
    allowed = [word.replace("_", " ") for word in _operations(surface, grant)]
    if not allowed:
        return f"{_NAMES[surface]}: nothing."
    narrowed = describe.access_info(surface, grant)
    return f"{_NAMES[surface]}: {', '.join(allowed)}.{f' {narrowed}' if narrowed else ''}"


def _difference(surface: Surface, own: Grant, whole: Grant) -> Iterator[str]:
    name, allowed = _NAMES[surface], _operations(surface, own)
    withheld = [word for word in _operations(surface, whole) if word not in allowed]
    if allowed:
        yield f"{name}: {describe.access_info(surface, own) or 'all that your token reaches.'}"
    if allowed and withheld:
        yield f"{name}: your token allows {', '.join(withheld)} too, which is not handed on."
    elif withheld:
        yield f"{name}: nothing is handed on."


def _operations(surface: Surface, grant: Grant) -> list[str]:
    """Return the words of what *grant* allows on *surface*, in the order of the vocabulary."""
    match surface:
        case Surface.EMAIL:
            return _words(vocabulary.EmailOp, grant.email_operations if grant.email_enabled else ())
        case Surface.TASKS:
            return _words(vocabulary.TaskOp, grant.task_operations)
        case Surface.COLLAB:
            usable = grant.collab_operations if grant.collab_enabled else ()
            return _words(vocabulary.CollabOp, usable)
    levels = list(CalendarAccessLevel)  # from the narrowest to the widest
    reached = levels.index(grant.calendar_level) + 1 if grant.calendar_enabled else 0
    return [level.value for level in levels[:reached]]


def _words(words: Iterable[StrEnum], allowed: Collection[StrEnum]) -> list[str]:
    return [word.value for word in words if word in allowed]
