"""Members of a message that are read from its raw bytes, on first access."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from sandbox.mail import dates
from sandbox.mail.mime import Address, MimeTreeCache, Part
from sandbox.mail.store import StoredMail
from sandbox.provider_b.outlook_mail import bodies, search

Json = dict[str, Any]

_MAX_CACHED = 8192


class Content:
    """Lazily computed content of a message; every member is computed once."""

    def __init__(self, tree: Part) -> None:
        self.tree = tree
        self._members: dict[str, Any] = {}

    def member(self, name: str) -> Any:
        """Return a member of the record that depends on the raw message alone; None if unknown."""
        if name not in self._members:
            read = _FROM_CONTENT.get(name)
            self._members[name] = read(self) if read is not None else None
        return self._members[name]

    @cached_property
    def shown(self) -> tuple[Part, ...]:
        """The texts that are shown one after the other."""
        return tuple(bodies.shown_texts(self.tree))

    @cached_property
    def is_html(self) -> bool:
        """Whether HTML is among the texts."""
        return any(part.content_type == "text/html" for part in self.shown)

    @cached_property
    def text(self) -> str:
        """The text alternative, converted from HTML when there is none."""
        part = self.tree.body("plain") if len(self.shown) < 2 else None
        return part.text if part is not None else self.text_from_best

    @cached_property
    def html(self) -> str:
        """The HTML body, converted from text when there is none."""
        if not self.is_html:
            return bodies.to_html("\n".join(part.text for part in self.shown))
        return "".join(
            part.text if part.content_type == "text/html" else bodies.to_division(part.text)
            for part in self.shown
        )

    @cached_property
    def text_from_best(self) -> str:
        """The text of the HTML body, else of the text body; for previews and conversions."""
        if self.is_html:
            return bodies.to_text(self.html)
        return "\n".join(part.text for part in self.shown)

    @cached_property
    def preview(self) -> str:
        return bodies.preview(self.text_from_best)

    @cached_property
    def attachments(self) -> tuple[Part, ...]:
        """Every part that is no body: files, attached messages, inline images."""
        shown = {part.path for part in self.shown if part.disposition != "inline"}
        return tuple(
            part
            for part in self.tree.walk_outer()
            if part.path not in shown and _is_attachment(part)
        )

    @cached_property
    def has_attachments(self) -> bool:
        """Whether the message has an attachment that is not inline."""
        return any(not part.is_inline for part in self.attachments)

    @cached_property
    def sent_ms(self) -> int | None:
        """The time of the Date header; None when it is missing or invalid."""
        return dates.parse_ms(self.tree.header("Date") or "")

    @cached_property
    def importance(self) -> str:
        """`Importance`, else `X-Priority`, else normal."""
        named = (self.tree.header("Importance") or "").strip().lower()
        if named in ("low", "normal", "high"):
            return named
        priority = (self.tree.header("X-Priority") or "3").strip()[:1]
        return {"1": "high", "2": "high", "4": "low", "5": "low"}.get(priority, "normal")

    def people(self, header: str) -> tuple[Address, ...]:
        return self.tree.addresses(header)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Indexed words by search property."""
        texts = {name: self._people_words(name) for name in ("from", "to", "cc", "bcc")}
        texts["subject"] = search.words(self.tree.header("Subject") or "")
        texts["body"] = search.words(self.text_from_best)
        texts["attachment"] = search.words(" ".join(part.filename for part in self.attachments))
        return texts

    def _people_words(self, header: str) -> str:
        return search.words(
            " ".join(f"{person.name} {person.address}" for person in self.people(header))
        )


class ContentCache:
    """Least-recently-used cache of the contents of stored messages."""

    def __init__(self, trees: MimeTreeCache) -> None:
        self._trees = trees
        self._kept: OrderedDict[bytes, Content] = OrderedDict()

    def __call__(self, mail: StoredMail) -> Content:
        """Return the content of *mail*."""
        cached = self._kept.get(mail.raw)
        if cached is not None:
            self._kept.move_to_end(mail.raw)
            return cached
        content = self._kept[mail.raw] = Content(self._trees.of(mail))
        if len(self._kept) > _MAX_CACHED:
            self._kept.popitem(last=False)
        return content


def recipients(people: Sequence[Address]) -> list[Json]:
    """Write addresses as recipients; the address replaces a missing name."""
    return [_recipient(person) for person in people]


def _recipient(person: Address) -> Json:
    return {"emailAddress": {"name": person.name or person.address, "address": person.address}}


def _author(content: Content, *headers: str) -> Json | None:
    for header in headers:
        people = content.people(header)
        if people:
            return _recipient(people[0])
    return None


def _is_attachment(part: Part) -> bool:
    if part.is_multipart:
        return False
    return part.is_attachment or not part.content_type.startswith("text/")


_FROM_CONTENT: Mapping[str, Any] = {
    "hasAttachments": lambda content: content.has_attachments,
    "internetMessageId": lambda content: content.tree.header("Message-ID"),
    "subject": lambda content: content.tree.header("Subject") or "",
    "bodyPreview": lambda content: content.preview,
    "importance": lambda content: content.importance,
    "internetMessageHeaders": lambda content: [
        {"name": header.name, "value": header.raw} for header in content.tree.headers
    ],
    "body": lambda content: {"contentType": "html", "content": content.html},
    "uniqueBody": lambda content: {"contentType": "html", "content": content.html},
    "sender": lambda content: _author(content, "Sender", "From"),
    "from": lambda content: _author(content, "From", "Sender"),
    "toRecipients": lambda content: recipients(content.people("To")),
    "ccRecipients": lambda content: recipients(content.people("Cc")),
    "bccRecipients": lambda content: recipients(content.people("Bcc")),
    "replyTo": lambda content: recipients(content.people("Reply-To")),
}
