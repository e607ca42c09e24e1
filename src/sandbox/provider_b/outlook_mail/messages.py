"""
Message resources, and their record type.

Members are computed on access, so that a filter on a date parses no mail. See
docs/spec/upstream/outlook-mail.md#message-to-email.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import shake_256
from types import MappingProxyType
from typing import Any

from sandbox.mail.store import StoredMail
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_mail import search
from sandbox.provider_b.outlook_mail.content import Content, ContentCache, Json
from sandbox.provider_b.outlook_mail.folders import folder_id

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

# In the order of responses.
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

_DRAFT_LACKS = ("from", "sender")


@lru_cache(maxsize=65536)
def utc(milliseconds: int) -> str:
    """Write milliseconds since the epoch as ISO 8601 in UTC, in whole seconds."""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment.replace(tzinfo=None).isoformat()}Z"


def change_key(mail: StoredMail) -> str:
    """Return the change key of a message, which differs after every change."""
    return f"CQAAABYAAAC{b64encode(mail.change.to_bytes(9, 'big')).decode()}"


def etag(mail: StoredMail) -> str:
    """Return the ETag of a message."""
    return f'W/"{change_key(mail)}"'


class MessageView:
    """A message as a record with lazily computed members."""

    __slots__ = ("content_of", "mail")

    def __init__(self, mail: StoredMail, content_of: ContentCache) -> None:
        self.mail = mail
        self.content_of = content_of

    @property
    def content(self) -> Content:
        return self.content_of(self.mail)

    def get(self, name: str) -> Any:
        """Return a member of the record, with plain ids and an HTML body; None if unknown."""
        member = _FROM_STORE.get(name)
        if member is not None:
            return member(self.mail)
        if name == "sentDateTime":
            return sent_time(self.content, self.mail)
        return self.content.member(name)

    def record(self, names: Iterable[str], *, immutable: bool, body_type: str) -> Json:
        """
        Write the message as a resource.

        Args:
            names: The members to write; `id` and the ETag are always written.
            immutable: Whether to write immutable ids.
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
        """Return the message's entry in the search index."""
        content = self.content
        return search.Searchable(
            texts=content.texts,
            received=utc(self.mail.received_ms)[:10],
            sent=sent_time(content, self.mail)[:10],
            has_attachments=content.has_attachments,
            importance=content.importance,
            size=len(self.mail.raw),
        )


def sent_time(content: Content, mail: StoredMail) -> str:
    """Return the time of the Date header, or the received time when there is none."""
    return utc(mail.received_ms if content.sent_ms is None else content.sent_ms)


def _conversation_index(mail: StoredMail) -> str:
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
    "conversationIndex": _conversation_index,
    "isDeliveryReceiptRequested": lambda _mail: False,
    "isReadReceiptRequested": lambda _mail: False,
    "isRead": lambda mail: mail.is_read,
    "isDraft": lambda mail: mail.folder == "drafts",
    "webLink": _web_link,
    "inferenceClassification": lambda _mail: "focused",
    "flag": lambda mail: {"flagStatus": "flagged" if mail.is_starred else "notFlagged"},
}
