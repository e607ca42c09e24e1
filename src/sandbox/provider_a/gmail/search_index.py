"""Indexed words of a message, for Gmail's search."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from sandbox.mail.mime import Part
from sandbox.mail.normalization import compose
from sandbox.mail.store import StoredMail
from sandbox.provider_a.gmail.messages import strip_html

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[^\W_{_IDEOGRAPHS}]+")


class IndexedMessage:
    """
    Lazily indexed words of a message.

    Parsing takes a millisecond per message, and many queries (`-in:drafts`) need no words.
    """

    def __init__(self, read: Callable[[], Part]) -> None:
        """*read* parses the message."""
        self._read = read

    @cached_property
    def fields(self) -> Mapping[str, str]:
        """Each field as ``" word word "``."""
        tree = self._read()
        return {
            "from": words(_people(tree, "from")),
            "to": words(_people(tree, "to")),
            "cc": words(_people(tree, "cc")),
            "bcc": words(_people(tree, "bcc")),
            "subject": words(tree.header("subject") or ""),
            "filename": words(
                " \n ".join(attachment.filename for attachment in tree.attachments())
            ),
            "list": words(tree.header("list-id") or ""),
            "deliveredto": words(tree.header("delivered-to") or ""),
            "body": words(_body(tree)),
        }

    @cached_property
    def anywhere(self) -> str:
        """Subject, body, people and file names together."""
        return "".join(self.fields.values())

    @cached_property
    def has_attachment(self) -> bool:
        """Whether the message has an attachment, or a part such as a calendar, not inline."""
        return any(map(_counts, self._read().walk_outer()))

    @cached_property
    def rfc_id(self) -> str:
        """The Message-ID without angle brackets."""
        return (self._read().header("message-id") or "").strip().strip("<>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A message to test; *labels* are its system label ids and normalized user label names."""

    mail: StoredMail
    index: IndexedMessage
    labels: Collection[str]


def index_message(tree: Part | Callable[[], Part]) -> IndexedMessage:
    """Index a message, given its tree or a function that parses it on first use."""
    return IndexedMessage(tree if callable(tree) else lambda: tree)


def words(text: str) -> str:
    """Return the words of a text in order, ``" first second "``; "" when there is none."""
    parts = _WORD.findall(compose(text))
    return f" {' '.join(parts)} " if parts else ""


def _counts(part: Part) -> bool:
    if part.is_attachment:
        return not part.is_inline
    is_text = part.content_type in ("text/plain", "text/html")
    return not (part.parts or part.is_multipart or is_text or part.is_inline)


def _people(tree: Part, name: str) -> str:
    return " \n ".join(f"{address.name} {address.address}" for address in tree.addresses(name))


def _body(tree: Part) -> str:
    plain, rich = tree.body("plain"), tree.body("html")
    pieces = [plain.text if plain else "", strip_html(rich.text) if rich else ""]
    return " ".join(pieces)
