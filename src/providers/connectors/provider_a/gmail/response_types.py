"""Provider A's JSON, decoded typed. Source: wire report, 1A.0 and 1A.1."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from providers.records.base import from_epoch_ms

_ADDRESSED = frozenset({"to", "cc", "bcc", "reply-to", "from"})


class GoogleStruct(msgspec.Struct, rename="camel", gc=False):
    """Root of what upstream sends; members that were not asked for keep their defaults."""


class Header(GoogleStruct):
    name: str = ""
    value: str = ""


class Content(GoogleStruct):
    """The bytes of a part: *data* is base64url; a large one has only an *attachment_id*."""

    size: int = 0
    data: str | None = None
    attachment_id: str | None = None


class Part(GoogleStruct):
    """A node of a message; *part_id* is "" at the root."""

    part_id: str = ""
    mime_type: str = ""
    filename: str = ""
    headers: tuple[Header, ...] = ()
    body: Content = msgspec.field(default_factory=Content)
    parts: "tuple[Part, ...]" = ()

    def header(self, name: str) -> str:
        """Return the value of the first header of this lower-case name, "" when there is none."""
        for header in self.headers:
            if header.name.lower() == name:
                return header.value
        return ""

    def head(self) -> dict[str, str]:
        """Return the headers by lower-case name: of a repeated one the first, addresses joined."""
        found = {header.name.lower(): header.value for header in reversed(self.headers)}
        if len(found) < len(self.headers):
            for name in _ADDRESSED & found.keys():
                same = [header.value for header in self.headers if header.name.lower() == name]
                found[name] = ", ".join(same)
        return found

    @property
    def disposition(self) -> str:
        """Return "inline", "attachment" or whatever else the part calls itself."""
        stated = self.header("content-disposition")
        return stated.partition(";")[0].strip().lower() if stated else ""

    @property
    def is_inline(self) -> bool:
        """Whether it belongs into the body, as an image with a Content-ID does."""
        disposition = self.disposition
        if disposition in ("inline", "attachment"):
            return disposition == "inline"
        return bool(self.header("content-id"))

    def leaves(self) -> "MessageLeaves":
        """
        Sort the leaves, in order.

        What has a file name or says so is attached, whatever is inside it, but is no container.
        """
        texts: list[Part] = []
        files: list[Part] = []
        cut = False
        waiting = [self]
        while waiting:
            part = waiting.pop()
            container = part.mime_type.startswith("multipart/")
            if not container and (part.filename or part.disposition == "attachment"):
                files.append(part)
            elif part.parts:
                waiting.extend(reversed(part.parts))
            else:
                texts.append(part)
                cut = cut or container
        return MessageLeaves(texts, files, cut=cut)


class MessageLeaves(NamedTuple):
    """
    The leaves of a message: what is read in place, and what is attached.

    Attributes:
        cut: Whether a container came without what is in it, because it lies too deep.
    """

    texts: Sequence[Part] = ()
    files: Sequence[Part] = ()
    cut: bool = False


_MOST_DIGITS = 14  # of milliseconds since the epoch: until the year 5138


class Message(GoogleStruct):
    """A message; *internal_date* is its received time, milliseconds since the epoch, as text."""

    id: str = ""
    thread_id: str | None = None
    label_ids: tuple[str, ...] = ()
    snippet: str = ""
    internal_date: str = "0"
    payload: Part = msgspec.field(default_factory=Part)

    @property
    def received_ms(self) -> int:
        """The received time, 0 when it cannot be read."""
        date = self.internal_date
        return int(date) if date.isdecimal() and len(date) <= _MOST_DIGITS else 0

    @property
    def received_at(self) -> datetime:
        """The received time, 1970 when it cannot be read."""
        return from_epoch_ms(self.received_ms)


class ParsedMessage(NamedTuple):
    """A message and its leaves, which are empty unless they are looked at."""

    message: Message
    leaves: MessageLeaves = MessageLeaves()

    @property
    def id(self) -> str:
        return self.message.id

    @property
    def received_at(self) -> datetime:
        return self.message.received_at


class MessageReference(GoogleStruct):
    id: str
    thread_id: str | None = None


class MessagePage(GoogleStruct):
    """A page of ids; `messages` is absent when nothing matches."""

    messages: tuple[MessageReference, ...] = ()
    next_page_token: str | None = None
    result_size_estimate: int = 0


class ThreadResponse(GoogleStruct):
    id: str = ""
    messages: tuple[Message, ...] = ()


class Label(GoogleStruct):
    id: str
    name: str
    type: str = "user"


class LabelsResponse(GoogleStruct):
    labels: tuple[Label, ...] = ()


class Profile(GoogleStruct):
    email_address: str = ""
