"""
Read conversations written like a screenplay.

    === Subject | days=142 | labels=VIP, To Do | starred
    --- birgitta > me; linnea | +0h | attach=pdf:Lease, draft 1.pdf
    What she writes, up to the next line of dashes.

The head names the subject, how many days ago it starts, labels and whether its last mail is
starred. A turn names who writes to whom (after the semicolon: copies) and how long after the turn
before. ``attach=`` and ``inline=`` list files as ``kind:name``, separated by semicolons.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScriptedMail:
    """One mail of a story; *hours* count from the turn before, files are (kind, name) pairs."""

    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    hours: int
    text: str
    attached: tuple[tuple[str, str], ...] = ()
    inline: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationScript:
    """A conversation that starts *days* before today."""

    subject: str
    days: int
    labels: tuple[str, ...]
    starred: bool
    turns: tuple[ScriptedMail, ...]


def parse_scripts(text: str) -> tuple[ConversationScript, ...]:
    """Read every story of *text*, in order."""
    return tuple(_story(chunk) for chunk in text.strip().removeprefix("=== ").split("\n=== "))


def _story(chunk: str) -> ConversationScript:
    head, *turns = chunk.split("\n--- ")
    subject, *options = (part.strip() for part in head.split("|"))
    settings = dict(_settings(options))
    return ConversationScript(
        subject=subject,
        days=int(settings["days"]),
        labels=tuple(_listed(settings.get("labels", ""), ",")),
        starred="starred" in settings,
        turns=tuple(_turn(turn) for turn in turns),
    )


def _turn(chunk: str) -> ScriptedMail:
    head, _, text = chunk.partition("\n")
    way, hours, *options = (part.strip() for part in head.split("|"))
    sender, _, receivers = way.partition(" > ")
    to, _, cc = receivers.partition(";")
    settings = dict(_settings(options))
    return ScriptedMail(
        sender=sender,
        to=tuple(_listed(to, ",")),
        cc=tuple(_listed(cc, ",")),
        hours=int(hours.strip("+h")),
        text=text.strip(),
        attached=tuple(_files(settings.get("attach", ""))),
        inline=tuple(_files(settings.get("inline", ""))),
    )


def _settings(options: list[str]) -> Iterator[tuple[str, str]]:
    for option in options:
        name, _, value = option.partition("=")
        yield name, value


def _listed(value: str, separator: str) -> Iterator[str]:
    return (part.strip() for part in value.split(separator) if part.strip())


def _files(value: str) -> Iterator[tuple[str, str]]:
    for one in _listed(value, ";"):
        kind, _, name = one.partition(":")
        yield kind, name
