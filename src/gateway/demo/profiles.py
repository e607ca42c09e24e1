"""The demo's token profiles: what each token may do and see."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gateway.http.sandbox_mount import DemoToken
from policy.presets import AGENT_PRESETS, PRESETS, AgentPreset, Preset
from policy.vocabulary import CalendarField, CollabField, EmailField, TaskField

_ALL_ON = PRESETS[Preset.FULL].settings
PARTNER = "partner"  # the profile of the second operator's token
TEAM = "team"  # the profile of the token for the shared mailbox
SUPERVISED = "supervised"  # the profile of the token whose writes wait for a person


def _all_but(words: Sequence[str], *hidden: str) -> list[str]:
    return [word for word in words if word not in hidden]


def profiles() -> Mapping[str, Mapping[str, object]]:
    """Return the settings of each of the demo's tokens."""
    return {
        "full": {**_ALL_ON, "allowChildren": True, "subscriptionsEnabled": True},
        "reader": PRESETS[Preset.READER].settings,
        "masked": {
            **_ALL_ON,
            "visibleEmailFields": _all_but(
                [*EmailField], "body", "body_preview", "attachments", "to"
            ),
            "visibleCalendarFields": _all_but([*CalendarField], "attendees"),
            "visibleCollabFields": _all_but([*CollabField], "owners", "size", "field_values"),
            "visibleTaskFields": _all_but([*TaskField], "assignees"),
        },
        "selected": {**_ALL_ON, "collabAllowAllDefault": False},
        PARTNER: _ALL_ON,
        TEAM: _ALL_ON,
        SUPERVISED: AGENT_PRESETS[AgentPreset.SUPERVISED].settings,
    }


# The profiles that the explorer offers; that of the second operator is for the tests.
_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "full": "May read and change everything that the demo's accounts hold.",
        "reader": "May read everything, and change nothing.",
        "masked": "May do everything, and does not see bodies, recipients, owners and assignees.",
        "selected": "Sees the files and lists that its rules name, and everything else in full.",
        TEAM: "May read and write in the studio's shared mailbox, and see its calendar.",
        SUPERVISED: "May do everything; each write waits until a person releases it.",
    }
)


def demo_tokens(texts: Mapping[str, str]) -> tuple[DemoToken, ...]:
    """Return what the explorer offers on the demo; *texts* are the tokens, by profile."""
    return tuple(
        DemoToken(name, sentence, texts[name])
        for name, sentence in _SENTENCES.items()
        if name in texts
    )


def selected_rules(subjects: Mapping[str, str]) -> Sequence[tuple[str, str, str]]:
    """
    Return the rules of the token `selected`: type, raw pattern and action.

    *subjects* is role -> id of content in the world; see `sandbox.world.collab.sites`.
    """
    folder = f"{subjects['drive']}:{subjects['folder']}"
    return (
        ("mime_type", "application/pdf", "allow"),
        ("mime_type", "image/*", "allow"),
        ("file_id", folder, "allow"),
        ("folder", folder, "allow"),
        ("list_id", subjects["list"].lower(), "allow"),
    )
