"""
Previews of writes: what a write is about to do, described before its first call upstream.

A dry run shows the preview to its caller and ends there. A call with `If-Effect` goes on only when
its preview is the one that the dry run showed (docs/spec/dry-run.md). For other calls there is no
preview, so nothing is read upstream for one.

Whatever a preview holds may be masked: `graph.effects` decides what the caller sees of it.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from providers.records.mail import Participant


class Recipients(msgspec.Struct, frozen=True, kw_only=True):
    """
    The recipients of a message or share.

    Attributes:
        derived_from: The mask words of the fields that they were derived from; empty: the caller
            named them.
    """

    to: tuple[Participant, ...] = ()
    cc: tuple[Participant, ...] = ()
    bcc: tuple[Participant, ...] = ()
    derived_from: tuple[str, ...] = ()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a message; *derived*: from its original."""

    text: str
    derived: bool = False


class AttachmentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """
    An attachment of a message.

    Attributes:
        size: Bytes.
        derived: Whether the original of a forward has it, and not the caller.
    """

    name: str
    size: int
    derived: bool = False


class Resource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Something that a write concerns.

    Attributes:
        kind: "message", "draft", "folder", "file", "permission", "list", "listItem", "board",
            "group", "item", "trash" or "recycleBin".
        id: As callers name it; None: it has none, or not yet.
        name: None: not shown.
    """

    kind: str
    id: str | None = None
    name: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """
    The change of one value.

    Attributes:
        before: None if it is absent or not known.
        masked_by: The mask word that hides *before*; "" for none.
    """

    field: str
    before: Any
    after: Any
    masked_by: str = ""


class WritePreview(msgspec.Struct, kw_only=True):
    """
    Preview of one write, filled in by everybody on its way.

    Attributes:
        confirm: Called directly before the first write through each connection; it raises to
            prevent the write.
        hidden: The mask words of the surface that the caller may not see: what they hide is not
            read for a preview.
        target: What is changed, or what something is added to.
        destination: Where it goes.
        taken_names: Names that are taken and do not prevent the write.
        basis: What else the write was derived from: texts, versions of originals. It is never
            shown; a change of it changes the digest.
        result: Members of the result record that are known before the write, by attribute.
        connection: Id of the connection that writes; None before the first write, and where the
            gateway itself stores something.
        confirmed: Whether *confirm* was called.
    """

    confirm: Callable[[], None]
    hidden: AbstractSet[str] = frozenset()
    recipients: Recipients | None = None
    subject: Subject | None = None
    attachments: tuple[AttachmentSummary, ...] = ()
    target: Resource | None = None
    destination: Resource | None = None
    changes: tuple[Change, ...] = ()
    taken_names: tuple[str, ...] = ()
    basis: tuple[Any, ...] = ()
    result: dict[str, Any] = msgspec.field(default_factory=dict)
    connection: int | None = None
    confirmed: bool = False

    def before_write(self, connection: int | None) -> None:
        """Ask *confirm* before the first write through *connection*."""
        if not self.confirmed or connection != self.connection:
            self.connection = connection
            self.confirm()
            self.confirmed = True


_current: ContextVar[WritePreview | None] = ContextVar("write_preview", default=None)


@contextmanager
def previewing(preview: WritePreview) -> Iterator[None]:
    """Let the ``with`` block describe its write in *preview*."""
    token = _current.set(preview)
    try:
        yield
    finally:
        _current.reset(token)


def current_preview() -> WritePreview | None:
    """Return the preview to be filled in; None if it was not requested."""
    return _current.get()


def describe(**members: Any) -> None:
    """Set *members* of the current preview; do nothing when there is none."""
    preview = _current.get()
    if preview is not None:
        for name, value in members.items():
            setattr(preview, name, value)


def add_attachments(files: Iterable[tuple[str, int]]) -> None:
    """Add the attachments that a forward takes from its original, by name and size in bytes."""
    preview = _current.get()
    if preview is not None:
        preview.attachments += tuple(
            AttachmentSummary(name=name, size=size, derived=True) for name, size in files
        )
