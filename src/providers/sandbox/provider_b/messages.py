"""
A stored message as the wire's `message` record.

Members are made when they are asked for: a filter on a date parses no mail, and what was parsed is
kept. Source: wire report 1A.0; the type `microsoft.graph.message`.
"""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import shake_256
from types import MappingProxyType
from typing import Any

from providers.sandbox.mailstore import StoredMail
from providers.sandbox.mime import Address, Part, Trees
from providers.sandbox.provider_b import bodies, search
from providers.sandbox.provider_b.filters import Kind, Shape
from providers.sandbox.provider_b.folders import folder_id

Json = dict[str, Any]

_ADDRESS = Shape(
    name="microsoft.graph.emailAddress", members={"name": Kind.STRING, "address": Kind.STRING}
)
_RECIPIENT = Shape(name="microsoft.graph.recipient", members={"emailAddress": _ADDRESS})
_BODY = Shape(
    name="microsoft.graph.itemBody", members={"contentType": Kind.STRING, "content": Kind.STRING}
)
_FLAG = Shape(name="microsoft.graph.followupFlag", members={"flagStatus": Kind.STRING})
_HEADER = Shape(
    name="microsoft.graph.internetMessageHeader",
    members={"name": Kind.STRING, "value": Kind.STRING},
)

# In the order of the wire.
MEMBERS: Mapping[str, Kind | Shape] = MappingProxyType(
    {
        "id": Kind.STRING,
        "createdDateTime": Kind.INSTANT,
        "lastModifiedDateTime": Kind.INSTANT,
        "changeKey": Kind.STRING,
        "categories": Kind.STRING,
        "receivedDateTime": Kind.INSTANT,
        "sentDateTime": Kind.INSTANT,
        "hasAttachments": Kind.BOOLEAN,
        "internetMessageId": Kind.STRING,
        "subject": Kind.STRING,
        "bodyPreview": Kind.STRING,
        "importance": Kind.STRING,
        "parentFolderId": Kind.STRING,
        "conversationId": Kind.STRING,
        "conversationIndex": Kind.STRING,
        "isDeliveryReceiptRequested": Kind.BOOLEAN,
        "isReadReceiptRequested": Kind.BOOLEAN,
        "isRead": Kind.BOOLEAN,
        "isDraft": Kind.BOOLEAN,
        "webLink": Kind.STRING,
        "inferenceClassification": Kind.STRING,
        "internetMessageHeaders": _HEADER,
        "body": _BODY,
        "uniqueBody": _BODY,
        "sender": _RECIPIENT,
        "from": _RECIPIENT,
        "toRecipients": _RECIPIENT,
        "ccRecipients": _RECIPIENT,
        "bccRecipients": _RECIPIENT,
        "replyTo": _RECIPIENT,
        "flag": _FLAG,
    }
)
SHAPE = Shape(
    name="microsoft.graph.message",
    members=MEMBERS,
    collections=frozenset(
        (
            "categories",
            "internetMessageHeaders",
            "toRecipients",
            "ccRecipients",
            "bccRecipients",
            "replyTo",
        )
    ),
    exact=frozenset(("id", "conversationId", "parentFolderId", "changeKey")),
)
ONLY_WHEN_SELECTED = frozenset(("internetMessageHeaders", "uniqueBody"))
BODY_MEMBERS = frozenset(("body", "uniqueBody", "bodyPreview"))

_MOST_KEPT = 8192
_DRAFT_LACKS = ("from", "sender")
_NO_PERSON = Address("", "")


def utc(milliseconds: int) -> str:
    """Write a time as the wire does, to the second."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def change_key(mail: StoredMail) -> str:
    """Name the state of a message; another one after every change."""
    return f"CQAAABYAAAC{b64encode(mail.change.to_bytes(9, 'big')).decode()}"


def etag(mail: StoredMail) -> str:
    """Return the entity tag that `If-Match` is compared with."""
    return f'W/"{change_key(mail)}"'


class Content:
    """What the raw bytes of a message say; every member is worked out once."""

    def __init__(self, tree: Part) -> None:
        self.tree = tree

    @cached_property
    def text(self) -> str:
        """The body as text; HTML is converted when there is no text."""
        part = self.tree.body("plain")
        return part.text if part is not None else bodies.to_text(self.html)

    @cached_property
    def html(self) -> str:
        """The body as HTML; text is wrapped when there is no HTML."""
        part = self.tree.body("html")
        if part is not None:
            return part.text
        plain = self.tree.body("plain")
        return bodies.to_html(plain.text if plain is not None else "")

    @cached_property
    def text_from_best(self) -> str:
        """The readable text of the richest body, as previews and conversions use it."""
        return bodies.to_text(self.html) if self.tree.body("html") is not None else self.text

    @cached_property
    def preview(self) -> str:
        return bodies.preview(self.text_from_best)

    @cached_property
    def attachments(self) -> tuple[Part, ...]:
        """Every leaf that is no body: named files, attached messages, inline images."""
        return tuple(part for part in self.tree.own() if _attached(part))

    @cached_property
    def has_attachments(self) -> bool:
        """Whether anything is attached that does not belong into the body."""
        return any(not part.is_inline for part in self.attachments)

    @cached_property
    def sent_ms(self) -> int | None:
        """The time of the Date header, None when it has none that can be read."""
        try:
            moment = parsedate_to_datetime(self.tree.header("Date") or "")
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return int(aware.timestamp() * 1000)
        except (ValueError, TypeError, OverflowError):
            return None

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
        """The words of the search index."""
        found = {name: self._people_words(name) for name in ("from", "to", "cc", "bcc")}
        found["subject"] = search.words(self.tree.header("Subject") or "")
        found["body"] = search.words(self.text_from_best)
        found["attachment"] = search.words(" ".join(part.filename for part in self.attachments))
        return found

    def _people_words(self, header: str) -> str:
        return search.words(" ".join(f"{one.name} {one.address}" for one in self.people(header)))


class View:
    """One message as a record; see `Views`."""

    __slots__ = ("content_of", "mail")

    def __init__(self, mail: StoredMail, content_of: "Contents") -> None:
        self.mail = mail
        self.content_of = content_of

    @property
    def content(self) -> Content:
        return self.content_of(self.mail)

    def get(self, name: str) -> Any:
        """Return a member of the record with plain ids and an HTML body; None when it has none."""
        member = _FROM_STORE.get(name)
        if member is not None:
            return member(self.mail)
        made = _FROM_CONTENT.get(name)
        return made(self.content, self.mail) if made is not None else None

    def record(self, names: Iterable[str], *, immutable: bool, body_type: str) -> Json:
        """
        Write the record out.

        Args:
            names: The members wanted; `id` and the etag are always there.
            immutable: Which of the two id spaces to write.
            body_type: "html" or "text".
        """
        mail = self.mail
        record: Json = {
            "@odata.etag": etag(mail),
            "id": mail.immutable_id if immutable else mail.id,
        }
        for name in names:
            if name == "id" or (mail.folder == "drafts" and name in _DRAFT_LACKS):
                continue
            if name in ("body", "uniqueBody"):
                record[name] = self._body(body_type)
            else:
                record[name] = self.get(name)
        return record

    def _body(self, body_type: str) -> Json:
        content = self.content
        text = content.html if body_type == "html" else content.text_from_best
        return {"contentType": body_type, "content": text}

    def searchable(self) -> search.Searchable:
        """Return the message as the search index holds it."""
        content = self.content
        return search.Searchable(
            texts=content.texts,
            received=utc(self.mail.received_ms)[:10],
            sent=sent(content, self.mail)[:10],
            has_attachments=content.has_attachments,
            importance=content.importance,
            size=len(self.mail.raw),
        )


class Contents:
    """The contents of stored messages, the ones used last kept."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._kept: OrderedDict[int, tuple[bytes, Content]] = OrderedDict()

    def __call__(self, mail: StoredMail) -> Content:
        """Return what *mail* says, reading it the first time only."""
        kept = self._kept.get(mail.seq)
        if kept is not None and kept[0] is mail.raw:
            self._kept.move_to_end(mail.seq)
            return kept[1]
        content = Content(self._trees.of(mail))
        self._kept[mail.seq] = (mail.raw, content)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return content


def sent(content: Content, mail: StoredMail) -> str:
    """Return when a message was sent; the received time when it does not say."""
    return utc(mail.received_ms if content.sent_ms is None else content.sent_ms)


def recipients(people: Sequence[Address]) -> list[Json]:
    """Write addresses as the wire's recipients; a missing name is the address."""
    return [_recipient(one) for one in people]


def _recipient(person: Address) -> Json:
    return {"emailAddress": {"name": person.name or person.address, "address": person.address}}


def _author(content: Content, *headers: str) -> Json | None:
    for header in headers:
        found = content.people(header)
        if found:
            return _recipient(found[0])
    return None


def _attached(part: Part) -> bool:
    if part.is_multipart:
        return False
    return part.is_attachment or not part.content_type.startswith("text/")


def _index(mail: StoredMail) -> str:
    return b64encode(b"\x01" + shake_256(mail.thread_id.encode()).digest(21)).decode()


def _web_link(mail: StoredMail) -> str:
    return f"https://outlook.example/owa/?ItemID={mail.id}&exvsurl=1&viewmodel=ReadMessageItem"


_FROM_STORE: Mapping[str, Any] = {
    "id": lambda mail: mail.id,
    "createdDateTime": lambda mail: utc(mail.received_ms),
    "lastModifiedDateTime": lambda mail: utc(mail.received_ms),
    "receivedDateTime": lambda mail: utc(mail.received_ms),
    "changeKey": change_key,
    "categories": lambda mail: list(mail.labels),
    "parentFolderId": lambda mail: folder_id(mail.folder),
    "conversationId": lambda mail: mail.thread_id,
    "conversationIndex": _index,
    "isDeliveryReceiptRequested": lambda _mail: False,
    "isReadReceiptRequested": lambda _mail: False,
    "isRead": lambda mail: mail.is_read,
    "isDraft": lambda mail: mail.folder == "drafts",
    "webLink": _web_link,
    "inferenceClassification": lambda _mail: "focused",
    "flag": lambda mail: {"flagStatus": "flagged" if mail.is_starred else "notFlagged"},
}
_FROM_CONTENT: Mapping[str, Any] = {
    "sentDateTime": sent,
    "hasAttachments": lambda content, _mail: content.has_attachments,
    "internetMessageId": lambda content, _mail: content.tree.header("Message-ID"),
    "subject": lambda content, _mail: content.tree.header("Subject") or "",
    "bodyPreview": lambda content, _mail: content.preview,
    "importance": lambda content, _mail: content.importance,
    "internetMessageHeaders": lambda content, _mail: [
        {"name": one.name, "value": one.raw} for one in content.tree.headers
    ],
    "body": lambda content, _mail: {"contentType": "html", "content": content.html},
    "uniqueBody": lambda content, _mail: {"contentType": "html", "content": content.html},
    "sender": lambda content, _mail: _author(content, "Sender", "From"),
    "from": lambda content, _mail: _author(content, "From", "Sender"),
    "toRecipients": lambda content, _mail: recipients(content.people("To")),
    "ccRecipients": lambda content, _mail: recipients(content.people("Cc")),
    "bccRecipients": lambda content, _mail: recipients(content.people("Bcc")),
    "replyTo": lambda content, _mail: recipients(content.people("Reply-To")),
}
