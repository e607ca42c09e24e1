"""Presets: named settings of a token (docs/spec/tokens.md#presets)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from policy.vocabulary import (
    ALL,
    READ_ONLY,
    CalendarAccessLevel,
    EmailOp,
    SendMode,
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
        AgentPreset.FULL: PresetSettings(
            "Reads and changes everything that the accounts hold; every write is shown first.",
            {**PRESETS[Preset.FULL].settings, **_SHOWN_FIRST},
        ),
    }
)
