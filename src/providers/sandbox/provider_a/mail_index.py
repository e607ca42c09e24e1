"""The words of a message, as provider A's search sees them."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from providers.sandbox.mailstore import StoredMail
from providers.sandbox.mime import Part
from providers.sandbox.provider_a.mail_message import strip_html

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """
    A message's words, each field as ``" word word "``. Kept as long as the message's bytes are.

    Attributes:
        anywhere: Subject, body, people and file names together.
        rfc_id: The Message-ID without angle brackets.
    """

    fields: dict[str, str]
    anywhere: str
    has_attachment: bool
    rfc_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A message in question: *labels* are its system label ids and normalised user names."""

    mail: StoredMail
    index: Indexed
    labels: Collection[str]


def index(tree: Part) -> Indexed:
    """Read a message's words."""
    attachments = tree.attachments()
    fields = {
        "from": words(_people(tree, "from")),
        "to": words(_people(tree, "to")),
        "cc": words(_people(tree, "cc")),
        "bcc": words(_people(tree, "bcc")),
        "subject": words(tree.header("subject") or ""),
        "filename": words(" \n ".join(one.filename for one in attachments)),
        "list": words(tree.header("list-id") or ""),
        "deliveredto": words(tree.header("delivered-to") or ""),
        "body": words(_body(tree)),
    }
    return Indexed(
        fields=fields,
        anywhere="".join(fields.values()),
        has_attachment=any(not one.is_inline for one in attachments),
        rfc_id=(tree.header("message-id") or "").strip().strip("<>"),
    )


def words(text: str) -> str:
    """Return the words of a text in order: ``" one two "``, "" when there is none."""
    found = _WORD.findall(unicodedata.normalize("NFC", text).casefold())
    return f" {' '.join(found)} " if found else ""


def _people(tree: Part, name: str) -> str:
    return " \n ".join(f"{one.name} {one.address}" for one in tree.addresses(name))


def _body(tree: Part) -> str:
    plain, rich = tree.body("plain"), tree.body("html")
    pieces = [plain.text if plain else "", strip_html(rich.text) if rich else ""]
    return " ".join(pieces)
