"""The parts of a message, by BODYSTRUCTURE (RFC 3501, 7.4.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from providers.imap.parsing import Value, number, text
from providers.mail import addresses, parameters

MAX_PARTS = 1000  # of one message


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    A part of a message that is no multipart.

    Attributes:
        section: Its number for BODY[…], such as "1.2".
        media_type: In lower case.
        encoding: Its Content-Transfer-Encoding, in lower case.
        size: Bytes as they are encoded.
        filename: Decoded; "" without one.
        disposition: In lower case; "" without one.
        has_content_id: Whether the body can refer to it.
    """

    section: str
    media_type: str
    charset: str | None
    encoding: str
    size: int
    filename: str
    disposition: str
    has_content_id: bool

    @property
    def is_file(self) -> bool:
        """Whether the part is an attachment rather than text of the message."""
        return bool(
            self.filename
            or self.disposition == "attachment"
            or not self.media_type.startswith("text/")
        )

    @property
    def is_inline(self) -> bool:
        """Whether the part is shown within the body, such as an image with a Content-ID."""
        if self.disposition in ("inline", "attachment"):
            return self.disposition == "inline"
        return self.has_content_id

    @property
    def decoded_size(self) -> int:
        """Bytes of the content; of base64 as in lines of 76 characters, which nearly all have."""
        return self.size * 57 // 78 if self.encoding == "base64" else self.size


@dataclass(frozen=True, slots=True)
class Structure:
    """
    The leaves of a message, in order.

    Attributes:
        is_whole: False when the message has more parts than are read.
    """

    parts: tuple[Part, ...]
    is_whole: bool = True

    @property
    def body(self) -> Part | None:
        """The body: the first part of HTML, else the first of plain text."""
        for kind in ("text/html", "text/plain"):
            for part in self.parts:
                if part.media_type == kind and not part.is_file:
                    return part
        return None

    @property
    def files(self) -> tuple[Part, ...]:
        """The attachments, inline ones included."""
        return tuple([part for part in self.parts if part.is_file])

    @property
    def has_attachments(self) -> bool:
        """Whether an attachment is not inline."""
        return not all(part.is_inline for part in self.files)


def parse(value: Value, *, is_cut: bool = False) -> Structure:
    """
    Return the leaves of a BODYSTRUCTURE; what is malformed is left out.

    *is_cut*: its end is missing.
    """
    leaves: list[Part] = []
    stack: list[tuple[Sequence[Value], str]] = []
    if isinstance(value, list) and value:
        stack = [(value, "")]
        while stack and len(leaves) < MAX_PARTS:
            node, section = stack.pop()
            if node and isinstance(node[0], list):
                children = list(_leading_lists(node))
                prefix = f"{section}." if section else ""
                stack += [
                    (child, f"{prefix}{index}")
                    for index, child in reversed(list(enumerate(children, start=1)))
                ]
            elif len(node) > _SIZE:
                leaves.append(_leaf(node, section or "1"))
    return Structure(tuple(leaves), is_whole=not (is_cut or stack))


# Positions in the list of a leaf.
_TYPE, _SUBTYPE, _PARAMETERS, _CONTENT_ID, _ENCODING, _SIZE = 0, 1, 2, 3, 5, 6


def _leading_lists(node: Sequence[Value]) -> Iterator[list[Value]]:
    for child in node:
        if not isinstance(child, list):
            return
        yield child


def _leaf(node: Sequence[Value], section: str) -> Part:
    media_type = f"{text(node[_TYPE])}/{text(node[_SUBTYPE])}".lower()
    if "" in media_type.split("/", 1):
        media_type = "text/plain"  # as of a part without a type: RFC 2045, 5.2
    stated = _parameters(node[_PARAMETERS])
    disposition, names = _disposition(node, media_type)
    return Part(
        section=section,
        media_type=media_type,
        charset=stated.get("charset") or None,
        encoding=text(node[_ENCODING]).lower(),
        size=number(node[_SIZE]),
        filename=addresses.decode_words(names.get("filename") or stated.get("name", "")),
        disposition=disposition,
        has_content_id=bool(node[_CONTENT_ID]),
    )


def _disposition(node: Sequence[Value], media_type: str) -> tuple[str, dict[str, str]]:
    # After the size: MD5 and disposition; before them the lines of a text, and of a message its
    # envelope, structure and lines.
    index = _SIZE + 2
    if media_type.startswith("text/"):
        index += 1
    elif media_type == "message/rfc822":
        index += 3
    value = node[index] if len(node) > index else None
    if not isinstance(value, list) or not value:
        return "", {}
    return text(value[0]).lower(), _parameters(value[1] if len(value) > 1 else None)


def _parameters(value: Value) -> dict[str, str]:
    """Return parameters by lower-case name; continued and encoded ones joined (RFC 2231)."""
    if not isinstance(value, list):
        return {}
    pairs = zip(value[::2], value[1::2], strict=False)
    texts = ((text(name), text(content)) for name, content in pairs)
    return parameters.join(islice(texts, parameters.MAX_PARAMETERS))
