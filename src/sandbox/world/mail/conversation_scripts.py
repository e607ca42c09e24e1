"""
Parser of conversations that are written like a screenplay.

    === Subject | days=142 | labels=VIP, To Do | starred
    --- birgitta > me; linnea | +0h | attach=pdf:Lease, draft 1.pdf
    The text of her mail, up to the next line of dashes.

The head names the subject, the age in days of the first mail, labels, and whether the last mail is
starred. A mail names its sender, its recipients (copies after the semicolon) and the hours since
the mail before. ``attach=`` and ``inline=`` list files as ``kind:name``, separated by semicolons.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScriptedMail:
    """
    One mail of a conversation.

    Attributes:
        hours: Since the mail before.
        attachments, inline_files: (kind, file name).
    """

    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    hours: int
    text: str
    attachments: tuple[tuple[str, str], ...] = ()
    inline_files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationScript:
    """A conversation that starts *days* before today; its mails are in order."""

    subject: str
    days: int
    labels: tuple[str, ...]
    starred: bool
    mails: tuple[ScriptedMail, ...]


def parse_scripts(text: str) -> tuple[ConversationScript, ...]:
    """Parse every conversation of *text*, in order."""
    return tuple(
        _parse_conversation(chunk) for chunk in text.strip().removeprefix("=== ").split("\n=== ")
    )


def _parse_conversation(chunk: str) -> ConversationScript:
    head, *mails = chunk.split("\n--- ")
    subject, *options = (part.strip() for part in head.split("|"))
    settings = dict(_settings(options))
    return ConversationScript(
        subject=subject,
        days=int(settings["days"]),
        labels=tuple(_split(settings.get("labels", ""), ",")),
        starred="starred" in settings,
        mails=tuple(_parse_mail(mail) for mail in mails),
    )


def _parse_mail(chunk: str) -> ScriptedMail:
    head, _, text = chunk.partition("\n")
    people, hours, *options = (part.strip() for part in head.split("|"))
    sender, _, recipients = people.partition(" > ")
    to, _, cc = recipients.partition(";")
    settings = dict(_settings(options))
    return ScriptedMail(
        sender=sender,
        to=tuple(_split(to, ",")),
        cc=tuple(_split(cc, ",")),
        hours=int(hours.strip("+h")),
        text=text.strip(),
        attachments=tuple(_files(settings.get("attach", ""))),
        inline_files=tuple(_files(settings.get("inline", ""))),
    )


def _settings(options: list[str]) -> Iterator[tuple[str, str]]:
    for option in options:
        name, _, value = option.partition("=")
        yield name, value


def _split(value: str, separator: str) -> Iterator[str]:
    return (part.strip() for part in value.split(separator) if part.strip())


def _files(value: str) -> Iterator[tuple[str, str]]:
    for file in _split(value, ";"):
        kind, _, name = file.partition(":")
        yield kind, name
