"""
Prose of the world, in text files beside this module, and its readers.

    *_calendar.txt   meetings, in the format of `sandbox.world.calendar.calendars`
    odd_events.ics   calendar objects in odd forms; `sandbox.world.calendar.odd_events`
    odd_mails.mbox   messages as real senders write them, in forms that are easily read wrong
    phrases.txt      phrases by heading, one per line
    *.txt            conversations, in the format of `conversation_scripts`
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from sandbox.world.mail.conversation_scripts import ConversationScript, parse_scripts


@cache
def load_scripts(name: str) -> tuple[ConversationScript, ...]:
    """Parse the conversations of ``<name>.txt``."""
    return parse_scripts(read_text(name))


@cache
def phrases() -> Mapping[str, tuple[str, ...]]:
    """Return the phrases of ``phrases.txt`` by heading, in the file's order."""
    by_heading: dict[str, tuple[str, ...]] = {}
    for chunk in read_text("phrases").removeprefix("== ").split("\n== "):
        heading, *lines = chunk.strip().split("\n")
        by_heading[heading] = tuple(lines)
    return MappingProxyType(by_heading)


@cache
def odd_mails() -> Mapping[str, bytes]:
    """Return the messages of ``odd_mails.mbox``, with lines that end in CRLF, by name."""
    data = files(__name__).joinpath("odd_mails.mbox").read_bytes()
    messages = re.split(rb"(?m)^From ([a-z0-9-]+)@\S+ .*\n", data)[1:]
    names = (name.decode() for name in messages[::2])
    raws = (raw.removesuffix(b"\n").replace(b"\n", b"\r\n") for raw in messages[1::2])
    return MappingProxyType(dict(zip(names, raws, strict=True)))


def odd_calendar() -> str:
    """Return the text of ``odd_events.ics``, in which days before today are numbers in braces."""
    return files(__name__).joinpath("odd_events.ics").read_text(encoding="utf-8")


def read_text(name: str) -> str:
    """Return the text of ``<name>.txt``."""
    return files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")
