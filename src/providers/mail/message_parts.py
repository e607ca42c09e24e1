"""
The parts of a message that are its text, and those that are attachments.

The rules: docs/spec/email.md#parts. One function decides for Gmail's parts, IMAP's structures and
raw messages.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Generic, Protocol, Self, TypeVar

MAX_PARTS = 500  # of one message that are read
_TEXTS = ("text/html", "text/plain")
# What is shown within a body; other types are opened, whatever their disposition is.
_VISUAL = re.compile(r"(?:image|audio|video)/")
_VISUAL_NAME = re.compile(r"\.(?:png|jpe?g|gif|bmp|webp|svg)$", re.IGNORECASE)
_MARKUP = 3  # bytes that HTML with anything to show has at least
_MAX_TEXTS = 20  # of one message that are shown
_MAX_FURTHER_BYTES = 256 * 1024  # encoded, of the texts after the first
_MAX_DEPTH = 100  # levels of parts
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class MailPart(Protocol):
    """
    A part of a message.

    Attributes:
        media_type: In lower case.
        filename: Decoded; "" without one.
        disposition: In lower case; "" without one.
        has_content_id: Whether the body can refer to it.
        encoded_size: Bytes.
        children: Of a multipart; an attached message is a leaf.
        root: Of multipart/related: the place of the child that the others belong to.
    """

    @property
    def media_type(self) -> str: ...
    @property
    def filename(self) -> str: ...
    @property
    def disposition(self) -> str: ...
    @property
    def has_content_id(self) -> bool: ...
    @property
    def encoded_size(self) -> int: ...
    @property
    def children(self) -> "Sequence[Self]": ...
    @property
    def root(self) -> int: ...


PartT = TypeVar("PartT", bound=MailPart)


@dataclass(frozen=True, slots=True)
class Arrangement(Generic[PartT]):
    """
    The leaves of a message that are shown or listed.

    Attributes:
        texts: The parts that make the body, in order.
        files: The attachments in order, inline ones included.
    """

    texts: Sequence[PartT] = ()
    files: Sequence[PartT] = ()

    @property
    def body_type(self) -> str | None:
        """The type of the body, "html" or "text"; None without a body."""
        if not self.texts:
            return None
        return "html" if any(part.media_type == "text/html" for part in self.texts) else "text"

    @property
    def has_attachments(self) -> bool:
        """Whether an attachment is not inline."""
        return not all(map(is_inline, self.files))


@dataclass(slots=True)
class _Branch(Generic[PartT]):
    """The contribution of a part; *named* are texts that are shown where nothing else is."""

    texts: list[PartT] = field(default_factory=list)
    files: list[PartT] = field(default_factory=list)
    named: list[PartT] = field(default_factory=list)

    def add(self, other: "_Branch[PartT]") -> None:
        self.texts += other.texts
        self.files += other.files
        self.named += other.named


def arrange(root: PartT, *, most: int = sys.maxsize) -> Arrangement[PartT]:
    """Return what of a message is text, and what is an attachment; of the first *most* parts."""
    branch = _read(root, iter(range(most)), depth=0)
    texts, files = branch.texts, branch.files
    if not texts:
        # A text with a name, or of another type, is the message where there is no other.
        others = branch.named or [
            part
            for part in files
            if part.media_type.startswith("text/") and part.disposition != "attachment"
        ]
        texts = others[:1]
    if branch.texts or branch.named:  # the first text is not an attachment
        files = [part for part in files if part is not texts[0]]
    shown = list(_bounded(texts))
    if len(shown) < len(texts):
        known = {id(part) for part in (*shown, *files)}
        left = (part for part in texts if id(part) not in known and part.encoded_size)
        files = [*files, *left]
    return Arrangement(shown, files)


def root_of(start: str, content_ids: Iterable[str]) -> int:
    """Return the place of the root among parts by their Content-IDs: RFC 2387, 3.2."""
    identifiers = [identifier.strip(" \t<>") for identifier in content_ids]
    root = start.strip(" \t<>")
    return identifiers.index(root) if root and root in identifiers else 0


def is_inline(part: MailPart) -> bool:
    """Return whether an attachment is shown within the body, such as a picture."""
    if part.disposition == "attachment":
        return False
    if part.media_type in _TEXTS:
        return part.disposition == "inline"
    is_visual = _VISUAL.match(part.media_type) or (
        part.media_type == "application/octet-stream" and _VISUAL_NAME.search(part.filename)
    )
    return bool(is_visual) and (part.disposition == "inline" or part.has_content_id)


def join_texts(texts: Sequence[tuple[str, str]]) -> str:
    """Return one body of texts with their media types, in order: HTML when one of them is."""
    if len(texts) == 1:
        return texts[0][1]
    if all(media_type != "text/html" for media_type, _ in texts):
        pieces = (text if text.endswith("\n") else f"{text}\n" for _, text in texts[:-1])
        return "".join((*pieces, *(text for _, text in texts[-1:])))
    return "\n".join(
        text if media_type == "text/html" else f"<div>{text_to_html(text)}</div>"
        for media_type, text in texts
    )


def text_to_html(text: str) -> str:
    """Return plain text as HTML, with its line breaks."""
    return "<br>".join(map(escape, _LINE_BREAK.split(text.removesuffix("\n").removesuffix("\r"))))


def _read(part: PartT, left: Iterator[int], *, depth: int) -> _Branch[PartT]:
    """Return the contribution of a part; *left* yields once for each further part."""
    if not part.children or depth == _MAX_DEPTH:
        return _leaf(part)
    children = [child for child, _ in zip(part.children, left)]  # noqa: B905 - as many as are left
    kind = part.media_type.partition("/")[2]
    branches = [
        _in_related(child, left, is_root=index == part.root, depth=depth)
        if kind == "related"
        else _read(child, left, depth=depth + 1)
        for index, child in enumerate(children)
    ]
    if kind == "alternative":
        return _best(children, branches)
    whole: _Branch[PartT] = _Branch()
    for branch in branches:
        whole.add(branch)
    return whole


def _leaf(part: PartT) -> _Branch[PartT]:
    if part.media_type.startswith("multipart/"):
        return _Branch()
    if part.media_type not in _TEXTS or part.disposition == "attachment":
        return _Branch(files=[part])
    if part.disposition == "inline" and part.filename:
        return _Branch(texts=[part], files=[part])
    if part.filename:
        return _Branch(files=[part], named=[part])
    return _Branch(texts=[part])


def _in_related(part: PartT, left: Iterator[int], *, is_root: bool, depth: int) -> _Branch[PartT]:
    """Return what a part of multipart/related contributes: texts that others refer to are files."""
    branch = _read(part, left, depth=depth + 1)
    if not is_root and part.media_type in _TEXTS and part.has_content_id:
        return _Branch(files=[part])
    return branch


def _best(children: Sequence[PartT], branches: list[_Branch[PartT]]) -> _Branch[PartT]:
    """Return the last alternative of HTML that is not empty, else of plain text."""
    for child, branch in zip(children, branches, strict=True):
        if branch.named and not branch.texts:  # a name says nothing of an alternative
            branch.texts = branch.named[:1]
        texts = set(map(id, branch.texts))
        files = [] if _is_other_version(child) else branch.files
        branch.files = [file for file in files if id(file) not in texts]
    shown = [branch for branch in branches if branch.texts]
    filled = [branch for branch in shown if not all(map(_is_blank, branch.texts))] or shown
    html = [branch for branch in filled if _has_html(branch)]
    best = (html or filled or [_Branch()])[-1]
    return _Branch(texts=best.texts, files=[file for branch in branches for file in branch.files])


def _is_other_version(part: MailPart) -> bool:
    """Whether an alternative is one more version of the text, such as enriched text or AMP."""
    media_type = part.media_type
    return (
        media_type.startswith("text/")
        and media_type != "text/calendar"
        and part.disposition != "attachment"
    )


def _has_html(branch: _Branch[PartT]) -> bool:
    return any(part.media_type == "text/html" for part in branch.texts)


def _is_blank(part: MailPart) -> bool:
    return part.encoded_size < (_MARKUP if part.media_type == "text/html" else 1)


def _bounded(texts: Sequence[PartT]) -> Iterator[PartT]:
    """Yield the first text and as many as the body may hold after it, without empty ones."""
    size = 0
    for index, part in enumerate(texts):
        if index == 0 or part.encoded_size:
            size += part.encoded_size if index else 0
            if index >= _MAX_TEXTS or size > _MAX_FURTHER_BYTES:
                return
            yield part
