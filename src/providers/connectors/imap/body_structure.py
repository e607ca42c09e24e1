"""The parts of a message, by BODYSTRUCTURE (RFC 3501, 7.4.2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from providers.imap.parsing import Value, number, text
from providers.mail import addresses, parameters
from providers.mail.message_parts import MAX_PARTS, Arrangement, arrange, root_of

MAX_DEPTH = 100  # levels of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    A part of a message; a multipart has nothing but its type and its children.

    Attributes:
        section: Its number for BODY[…], such as "1.2".
        media_type: In lower case.
        encoding: Its Content-Transfer-Encoding, in lower case.
        size: Bytes as they are encoded.
        filename: Decoded; "" without one.
        disposition: In lower case; "" without one.
        has_content_id: Whether the body can refer to it.
        children: Of a multipart, in order; an attached message has none.
        root: Of multipart/related: the place of the child that the others belong to.
    """

    section: str
    media_type: str
    charset: str | None
    encoding: str
    size: int
    filename: str
    disposition: str
    has_content_id: bool
    children: "tuple[Part, ...]" = ()
    root: int = 0

    @property
    def encoded_size(self) -> int:
        """Bytes as they are encoded."""
        return self.size

    @property
    def decoded_size(self) -> int:
        """Bytes of the content; of base64 as in lines of 76 characters, which nearly all have."""
        return self.size * 57 // 78 if self.encoding == "base64" else self.size


@dataclass(frozen=True, slots=True)
class Structure:
    """
    The parts of a message.

    Attributes:
        parts: The leaves, in order.
        arrangement: Which of them are the body, and which attachments.
        is_whole: False when the message has more parts than are read.
        is_single: Whether the message itself is its only part.
    """

    parts: tuple[Part, ...]
    arrangement: Arrangement[Part]
    is_whole: bool = True
    is_single: bool = False


def parse(value: Value, *, is_cut: bool = False) -> Structure:
    """
    Return the parts of a BODYSTRUCTURE; what is malformed is left out.

    *is_cut*: its end is missing.
    """
    reader = _Reader()
    root = reader.read(value, "", depth=0)
    leaves = tuple(reader.leaves)
    arrangement: Arrangement[Part] = Arrangement() if root is None else arrange(root)
    return Structure(
        leaves,
        arrangement,
        is_whole=not (is_cut or reader.left_out),
        is_single=leaves[:1] == (root,),
    )


class _Reader:
    """
    A reader of one structure.

    Attributes:
        leaves: In order.
        left_out: Whether there are more parts than are read.
    """

    def __init__(self) -> None:
        self.leaves: list[Part] = []
        self.left_out = False

    def read(self, node: Value, section: str, *, depth: int) -> Part | None:
        """Return a part and those in it; None: it is malformed."""
        if not isinstance(node, list) or not node:
            return None
        if len(self.leaves) >= MAX_PARTS or depth > MAX_DEPTH:
            self.left_out = True
            return None
        if not isinstance(node[0], list):
            if len(node) <= _SIZE:
                return None
            leaf = _leaf(node, section or "1")
            self.leaves.append(leaf)
            return leaf
        prefix = f"{section}." if section else ""
        nodes = list(_leading_lists(node))
        read = (
            self.read(child, f"{prefix}{index}", depth=depth + 1)
            for index, child in enumerate(nodes, start=1)
        )
        known = [pair for pair in zip(read, nodes, strict=True) if pair[0] is not None]
        subtype = text(node[len(nodes)]).lower() if len(node) > len(nodes) else ""
        return Part(
            section=section,
            media_type=f"multipart/{subtype or 'mixed'}",
            charset=None,
            encoding="",
            size=0,
            filename="",
            disposition="",
            has_content_id=False,
            children=tuple([child for child, _ in known if child is not None]),
            root=_root(node, [child for _, child in known]) if subtype == "related" else 0,
        )


# Positions in the list of a leaf.
_TYPE, _SUBTYPE, _PARAMETERS, _CONTENT_ID, _ENCODING, _SIZE = 0, 1, 2, 3, 5, 6


def _leading_lists(node: Sequence[Value]) -> Iterator[list[Value]]:
    for child in node:
        if not isinstance(child, list):
            return
        yield child


def _root(node: Sequence[Value], children: Sequence[list[Value]]) -> int:
    """Return the place of the root of multipart/related among its children."""
    place = sum(1 for _ in _leading_lists(node)) + 1  # of the parameters, behind the subtype
    start = _parameters(node[place] if len(node) > place else None).get("start", "")
    leaves = (len(child) > _SIZE and not isinstance(child[0], list) for child in children)
    identifiers = [
        text(child[_CONTENT_ID]) if is_leaf else ""
        for child, is_leaf in zip(children, leaves, strict=True)
    ]
    return root_of(start, identifiers)


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
