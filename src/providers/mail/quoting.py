"""
Bodies and subjects of replies and forwards: the caller's text, then the original.

The rules: docs/spec/email.md#quoting and #forwards-with-hidden-fields.
"""

import html
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from html import escape
from urllib.parse import unquote

from providers import search_text
from providers.mail.message_parts import text_to_html
from providers.records import mail as mail_records

_QUOTE = '<blockquote style="margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex">'
# Attributes of the original that a reply or forward quotes.
QUOTED_ATTRIBUTES = frozenset({"from_", "to", "cc", "subject", "sent_at", "body", "body_type"})
_TAG = re.compile(r"<[^<>]*>")
_CID = re.compile(r"cid:([^\s\"'<>()]{1,900})", re.IGNORECASE)
_CID_VALUE = re.compile(r"cid:[^\s\"'<>()]{1,900}", re.IGNORECASE)
_REPLY_PREFIX = re.compile(r"re\s?[:\uff1a]", re.IGNORECASE)
_FORWARD_PREFIX = re.compile(r"fwd?\s?[:\uff1a]", re.IGNORECASE)
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_FORWARDED = "---------- Forwarded message ----------"

Body = tuple[str, str]


def reply_subject(subject: str | None) -> str:
    """Prefix a subject with "Re: " unless it starts with "re:" or "re :", in any case."""
    return _prefixed(subject, "Re: ", _REPLY_PREFIX)


def forward_subject(subject: str | None) -> str:
    """Prefix a subject with "Fwd: " unless it starts with "fwd:" or "fw:", in any case."""
    return _prefixed(subject, "Fwd: ", _FORWARD_PREFIX)


def quote_in_reply(body: Body, original: mail_records.Email, *, hidden: AbstractSet[str]) -> Body:
    """
    Put a reply before the quoted original.

    Args:
        body: Text and type ("html" or "text") of the caller; the type is kept.
        original: With its body; author and time are named when it has them.
        hidden: Attributes of *original* that must not appear.

    Returns:
        Text and type.
    """
    text, kind = body
    attribution = _attribution(original, hidden)
    if kind == "html":
        quoted = f"{_QUOTE}{without_pictures(_as_html(original))}</blockquote>"
        return f"{text}<br><br><div>{escape(attribution)}</div>{quoted}", kind
    lines = "\n".join(f"> {line}".rstrip() for line in _LINE_BREAK.split(_as_text(original)))
    return f"{text}\n\n{attribution}\n{lines}\n", kind


def quote_in_forward(
    body: Body,
    original: mail_records.Email,
    *,
    hidden: AbstractSet[str],
    content_ids: AbstractSet[str] | None = None,
) -> Body:
    """
    Put a caller's text and a short header block before the original, which keeps its form.

    Arguments and result as for `quote_in_reply`; the type is HTML when either is. Without any
    text of the caller's it is the original's. References to pictures that are not among
    *content_ids* are taken out; None: all go along.
    """
    text, kind = body if body[0] else ("", original.body_type)
    block = [_FORWARDED, *_header_block(original, hidden)]
    if "html" not in (kind, original.body_type):
        return "\n".join((text, "", *block, "", original.body or "")), "text"
    head = "<br>".join(map(escape, block))
    own = text if kind == "html" else text_to_html(text)
    markup = _as_html(original)
    markup = markup if content_ids is None else without_pictures(markup, content_ids)
    return f"{own}<br><br><div>{head}</div><br>{markup}", "html"


def without_pictures(markup: str, content_ids: AbstractSet[str] = frozenset()) -> str:
    """Take references to parts of the original out of HTML, but for those of *content_ids*."""
    if "cid:" not in markup.lower():
        return markup

    def replace(match: re.Match[str]) -> str:
        stated = [unquote(html.unescape(name)) for name in _CID.findall(match[0])]
        if not stated or all(name in content_ids for name in stated):
            return match[0]
        return "" if match[0][:4].lower() == "<img" else _CID_VALUE.sub("none", match[0])

    return _TAG.sub(replace, markup)


def _prefixed(subject: str | None, prefix: str, known: re.Pattern[str]) -> str:
    text = (subject or "").strip()
    return text if known.match(text) else f"{prefix}{text}".strip()


def _attribution(original: mail_records.Email, hidden: AbstractSet[str]) -> str:
    author = original.from_ if "from_" not in hidden else None
    sent = original.sent_at if "sent_at" not in hidden else None
    when = f"On {sent:%a, %d %b %Y at %H:%M} UTC, " if sent else ""
    return f"{when}{_person(author) if author else 'the sender'} wrote:"


def _header_block(original: mail_records.Email, hidden: AbstractSet[str]) -> Iterator[str]:
    if original.from_ and "from_" not in hidden:
        yield f"From: {_person(original.from_)}"
    if original.sent_at and "sent_at" not in hidden:
        yield f"Date: {original.sent_at:%a, %d %b %Y %H:%M} UTC"
    if original.subject and "subject" not in hidden:
        yield f"Subject: {original.subject}"
    for label, name, people in (("To", "to", original.to), ("Cc", "cc", original.cc)):
        if people and name not in hidden:
            yield f"{label}: {', '.join(map(_person, people))}"


def _person(person: mail_records.Participant) -> str:
    return f"{person.name} <{person.email}>" if person.name else person.email


def _as_html(original: mail_records.Email) -> str:
    body = original.body or ""
    return body if original.body_type == "html" else text_to_html(body)


def _as_text(original: mail_records.Email) -> str:
    body = original.body or ""
    if original.body_type != "html":
        return body
    lines = (" ".join(line.split()) for line in search_text.html_to_text(body).split("\n"))
    return "\n".join(line for line in lines if line)
