"""
Gmail message resources in the four formats.

See docs/spec/upstream/gmail.md#message-to-email and docs/spec/upstream/gmail.md#formats.
"""

import html
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Collection
from types import MappingProxyType
from typing import Any

from sandbox.mail import charsets
from sandbox.mail.mime import Header, Part
from sandbox.mail.store import StoredMail
from sandbox.provider_a.gmail.labels import label_ids
from sandbox.state import SandboxState

FORMATS = ("minimal", "metadata", "full", "raw")

LARGE_BODY = 256 * 1024  # bytes; a longer text has an attachmentId instead of data
_SNIPPET = 200  # characters, before escaping
_MAX_CACHED = 4096
_ATTACHMENT_ID_PREFIX = "ANGjdJ"

_ADDRESSED = frozenset({"from", "sender", "reply-to", "to", "cc", "bcc"})
_INVISIBLE = re.compile(r"(?i)<(?:(script|style|head|title)\b|!--)")
_CLOSING = MappingProxyType(
    {
        "--": re.compile("-->"),
        **{name: re.compile(rf"(?i)</{name}\s*>") for name in ("script", "style", "head", "title")},
    }
)
_TAG = re.compile(r"<[^<>]*>")
_PARTING_TAG = re.compile(
    r"(?i)</?(?:p|div|br|hr|h[1-6]|[uod]l|li|d[td]|table|thead|tbody|tfoot|tr|t[dh]|blockquote|pre"
    r"|address|article|section|header|footer|center|form|body|html|img|option)\b[^<>]*>"
)


class MessageViews:
    """Writes message resources, with a cache of their payloads."""

    def __init__(self, state: SandboxState) -> None:
        self._state = state
        self._kept: OrderedDict[int, tuple[bytes, str, dict[str, Any], bool]] = OrderedDict()

    def write(
        self, mail: StoredMail, form: str = "full", headers: Collection[str] = ()
    ) -> dict[str, Any]:
        """
        Return the resource in one of `FORMATS`.

        In ``metadata``, *headers* are the header names to include (any case); empty includes all.
        """
        labels = label_ids(mail, self._state.mails)
        snippet, payload, has_attachments = self._content(mail)
        written: dict[str, Any] = {"id": mail.id, "threadId": mail.thread_id}
        if labels:
            written["labelIds"] = labels
        written["snippet"] = snippet
        if form == "full":
            written["payload"] = (
                _with_new_attachment_ids(payload, mail.seq) if has_attachments else payload
            )
        elif form == "metadata":
            written["payload"] = _metadata(payload, headers)
        written["sizeEstimate"] = len(mail.raw)
        if form == "raw":
            written["raw"] = encode_base64url(mail.raw)
        written["historyId"] = str(mail.change)
        written["internalDate"] = str(mail.received_ms)
        return written

    def brief(self, mail: StoredMail) -> dict[str, Any]:
        """Return the short resource of write responses: ids and labels."""
        labels = label_ids(mail, self._state.mails)
        written: dict[str, Any] = {"id": mail.id, "threadId": mail.thread_id}
        return {**written, "labelIds": labels} if labels else written

    def snippet(self, mail: StoredMail) -> str:
        """Return the beginning of a message's text, HTML-escaped."""
        return self._content(mail)[0]

    def attachment(self, mail: StoredMail, attachment_id: str) -> dict[str, Any] | None:
        """Return the attachment of any attachmentId issued for *mail*; None when it is unknown."""
        path = _part_path(attachment_id, mail.seq)
        if path is None:
            return None
        for part in self._state.trees.of(mail).walk():
            if part.path == path and not part.is_multipart:
                data = _data(part)
                return {"size": len(data), "data": encode_base64url(data)}
        return None

    def _content(self, mail: StoredMail) -> tuple[str, dict[str, Any], bool]:
        cached = self._kept.get(mail.seq)
        if cached is not None and cached[0] is mail.raw:
            return cached[1], cached[2], cached[3]
        tree = self._state.trees.of(mail)
        payload, has_attachments = _payload(tree)
        snippet = html.escape(plain_text(tree)[:_SNIPPET]).replace("&#x27;", "&#39;")
        self._kept[mail.seq] = (mail.raw, snippet, payload, has_attachments)
        if len(self._kept) > _MAX_CACHED:
            self._kept.popitem(last=False)
        return snippet, payload, has_attachments


def encode_base64url(data: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """
    Decode base64url or standard base64, with or without padding.

    Raises:
        ValueError: It is not base64.
    """
    plain = re.sub(r"\s", "", text).rstrip("=").replace("+", "-").replace("/", "_")
    if not re.fullmatch(r"[A-Za-z0-9_-]*", plain):
        raise ValueError("not base64")
    return urlsafe_b64decode(plain + "=" * (-len(plain) % 4))


def plain_text(tree: Part) -> str:
    """Return the visible text of the body on one line."""
    part = tree.body("plain")
    if part is not None and part.text.strip():
        return " ".join(part.text.split())
    part = tree.body("html")
    return "" if part is None else strip_html(part.text)


def strip_html(source: str) -> str:
    """Return the visible text of HTML on one line; inline elements do not part words."""
    text = _TAG.sub("", _PARTING_TAG.sub(" ", _visible_html(source)))
    return " ".join(html.unescape(text).split())


def _visible_html(source: str) -> str:
    """Remove scripts, styles, titles and comments, in linear time."""
    visible, at = [], 0
    while (opening := _INVISIBLE.search(source, at)) is not None:
        closing = _CLOSING[(opening[1] or "--").lower()].search(source, opening.end())
        visible.append(source[at : opening.start()])
        at = opening.start() if closing is None else closing.end()
        if closing is None:  # never closed: remove only the tag itself
            break
    visible.append(source[at:])
    return "".join(visible)


def _payload(part: Part) -> tuple[dict[str, Any], bool]:
    """Write a part down; the flag says whether any body below is given by attachmentId."""
    written: dict[str, Any] = {
        "partId": part.path,
        "mimeType": part.content_type,
        "filename": part.filename,
        "headers": [{"name": header.name, "value": _value(header)} for header in part.headers],
    }
    by_id = False
    if part.is_multipart:
        written["body"] = {"size": 0}
    elif _is_by_id(part):
        by_id = True
        written["body"] = {"attachmentId": part.path, "size": len(_data(part))}
    else:
        written["body"] = {"size": len(_data(part))}
        if part.data:
            written["body"]["data"] = encode_base64url(_data(part))
    if part.parts:
        below = [_payload(child) for child in part.parts]
        written["parts"] = [child for child, _ in below]
        by_id = by_id or any(flag for _, flag in below)
    return written, by_id


def _value(header: Header) -> str:
    """
    Return a header with its encoded words decoded, as Gmail does.

    Headers of addresses keep theirs: a name that is decoded may need quotation marks.
    """
    return header.raw if header.name.lower() in _ADDRESSED else header.text


def _data(part: Part) -> bytes:
    """Return the bytes of a part: texts in UTF-8, whatever their header says, as is reported."""
    if part.content_type.startswith("text/") and not part.is_attachment and part.charset:
        return part.text.encode() if charsets.is_known(part.charset) else part.data
    return part.data


def _is_by_id(part: Part) -> bool:
    is_text = part.content_type.startswith("text/")
    return part.is_attachment or not is_text or len(part.data) > LARGE_BODY


def _with_new_attachment_ids(payload: dict[str, Any], seq: int) -> dict[str, Any]:
    """Copy a payload with new attachment ids, which differ on every read."""
    written = dict(payload)
    body = payload["body"]
    if "attachmentId" in body:
        written["body"] = {**body, "attachmentId": _attachment_id(body["attachmentId"], seq)}
    if "parts" in payload:
        written["parts"] = [_with_new_attachment_ids(part, seq) for part in payload["parts"]]
    return written


def _attachment_id(path: str, seq: int) -> str:
    nonce = secrets.token_urlsafe(24)
    return f"{_ATTACHMENT_ID_PREFIX}{nonce}{encode_base64url(f'{nonce}|{seq}|{path}'.encode())}"


def _part_path(attachment_id: str, seq: int) -> str | None:
    if not attachment_id.startswith(_ATTACHMENT_ID_PREFIX):
        return None
    try:
        nonce, number, path = (
            decode_base64url(attachment_id[len(_ATTACHMENT_ID_PREFIX) + 32 :]).decode().split("|")
        )
    except ValueError:
        return None
    genuine = attachment_id[len(_ATTACHMENT_ID_PREFIX) :].startswith(nonce) and number == str(seq)
    return path if genuine else None


def _metadata(payload: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    wanted = {name.lower() for name in names}
    headers = [
        header for header in payload["headers"] if not wanted or header["name"].lower() in wanted
    ]
    return {"mimeType": payload["mimeType"], "headers": headers}
