"""
Changes of raw drafts: the named members change, and every other byte stays (docs/spec/drafts.md).

A draft is written by many programs. What a change does not name is copied and not written anew: the
headers that thread a reply, signatures, files, and forms that no reader of ours knows.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from providers.failures import Impossible, Missing
from providers.mail import addresses, compose, delivery, reply_headers
from providers.mail.compose import OutgoingMessage
from providers.mail.drafts import raw_message
from providers.mail.drafts.raw_message import HeaderField, RawPart
from providers.ports.drafts import DraftChange
from providers.records.mail import Participant
from providers.turns import in_thread

Path = tuple[int, ...]  # of a part: its place in the message, and in each part around it, from 0

_MANY_BYTES = 100_000
_PRIORITY = ("importance", "x-priority", "x-msmail-priority", "priority")
_CONTENT = ("content-type", "content-transfer-encoding")
_NEW_ID = "draft@access-gateway.invalid"  # of a message that only lends its headers


async def edit(raw: bytes, change: DraftChange, removed: Sequence[Path]) -> bytes:
    """
    Return a draft with the members of *change*, without the files at *removed*.

    Raises:
        Missing: One of the paths leads to no file.
        Impossible: The draft cannot be changed without other parts of it.
        UnsafeMessage: A value cannot be written.
    """
    files = [replace(file, content=await file.read()) for file in change.files]
    whole = replace(change, files=tuple(files))
    size = len(raw) + sum(file.size for file in files) + len(change.body or "")
    return await in_thread(partial(_edit, raw, whole, removed), is_long=size > _MANY_BYTES)


def _edit(raw: bytes, change: DraftChange, removed: Sequence[Path]) -> bytes:
    written = compose.serialize(_lender(change)).whole()
    if b"\r\n" not in raw[:2000]:
        written = written.replace(b"\r\n", b"\n")
    lent = raw_message.parse(written)
    edited = _without_files(_with_headers(raw, change, lent.fields), removed)
    if change.body is not None:
        text = lent.children[0] if lent.children else lent
        edited = _with_body(edited, written, text)
    if change.files:
        files = [written[part.start : part.end] for part in lent.children[1:]]
        edited = _with_files(edited, files)
    _check(raw, edited, change, removed)
    return edited


def for_submission(
    raw: bytes, sender: str, message_id: str
) -> tuple[OutgoingMessage, bytes, bytes]:
    """
    Return a draft that is to be submitted: whose and to whom, as it is filed, as it is transmitted.

    It is dated now, and is transmitted without `Bcc`; all else stays. *message_id* is for a draft
    that has none.

    Raises:
        UnsafeMessage: An address cannot be written.
    """
    root = raw_message.parse(raw)
    own_id = next(iter(reply_headers.message_ids(root.header("message-id"))), "")
    has_id = delivery.is_message_id(own_id)
    message = OutgoingMessage(
        sender=sender,
        to=_people(root, "to"),
        cc=_people(root, "cc"),
        bcc=_people(root, "bcc"),
        subject="",
        body="",
        body_type="text",
        message_id=own_id if has_id else message_id,
        in_reply_to=next(iter(reply_headers.message_ids(root.header("in-reply-to"))), ""),
        references=reply_headers.message_ids(root.header("references")),
    )
    lent = raw_message.parse(compose.serialize(message).whole()).fields
    names = ["date", *(() if has_id else ("message-id",))]
    names += () if root.header("from") else ("from",)
    new, head = _lent(lent, names), (0, _end_of_head(root))
    filed = _spliced(raw, head, _head(root.fields, new, raw))
    return message, filed, _spliced(raw, head, _head(root.fields, {**new, "bcc": ()}, raw))


def _people(root: RawPart, name: str) -> tuple[Participant, ...]:
    return addresses.parse(", ".join(field.value for field in root.fields if field.name == name))


def _lender(change: DraftChange) -> OutgoingMessage:
    """Return a message with the new members, whose written form is checked like every message."""
    return OutgoingMessage(
        sender="",
        to=change.to or (),
        cc=change.cc or (),
        bcc=change.bcc or (),
        subject=change.subject or "",
        body=change.body or "",
        body_type=change.body_type,
        importance=change.importance or "normal",
        message_id=_NEW_ID,
        files=compose.attached(change.files),
    )


def _with_headers(raw: bytes, change: DraftChange, lent: Sequence[HeaderField]) -> bytes:
    named = [name for name in ("to", "cc", "bcc", "subject") if getattr(change, name) is not None]
    named += _PRIORITY if change.importance is not None else ()
    if not named:
        return raw
    new = _lent(lent, named)
    root = raw_message.parse(raw)
    return _spliced(raw, (0, _end_of_head(root)), _head(root.fields, new, raw))


def _lent(fields: Sequence[HeaderField], names: Sequence[str]) -> dict[str, list[bytes]]:
    return {name: [field.written for field in fields if field.name == name] for name in names}


def _end_of_head(part: RawPart) -> int:
    return part.start + sum(len(field.written) for field in part.fields)


def _head(fields: Sequence[HeaderField], new: Mapping[str, Sequence[bytes]], raw: bytes) -> bytes:
    """Return a head with the *new* fields in the places of old ones of their names, or behind."""
    pieces: list[bytes] = []
    left = dict(new)
    for field in fields:
        pieces += left.pop(field.name, ()) if field.name in new else (field.written,)
    if pieces and not pieces[-1].endswith(b"\n"):
        pieces.append(_line_end(raw))
    return b"".join((*pieces, *(written for fields in left.values() for written in fields)))


def _with_body(raw: bytes, written: bytes, text: RawPart) -> bytes:
    """Replace the texts of a message by one; other versions of them go, and files stay."""
    root = raw_message.parse(raw)
    parts = raw_message.arrange(root)
    if not parts.texts:
        return _with_first_part(raw, root, written[text.start : text.end])
    target, *others = parts.texts
    gone = [part for part in others if part not in parts.files]
    gone += _other_versions(root, target, parts.files)
    new = _lent(text.fields, _CONTENT)
    head_end = _end_of_head(target)
    between = raw[head_end : target.body] or _line_end(raw)
    content = _head(target.fields, new, raw) + between + written[text.body : text.end]
    edits = [((target.start, target.end), content)]
    edits += [((part.line, part.stop), b"") for part in gone]
    for span, replacement in sorted(edits, reverse=True):
        raw = _spliced(raw, span, replacement)
    return raw


def _other_versions(root: RawPart, target: RawPart, files: Sequence[RawPart]) -> list[RawPart]:
    """Return the alternatives to the text *target* that have no file."""
    alternatives = (part for part in root.descendants() if _is(part, "multipart/alternative"))
    staying = {id(target), *map(id, files)}
    return [
        child
        for part in alternatives
        if any(inner is target for inner in part.descendants())
        for child in part.children
        if staying.isdisjoint(map(id, child.descendants()))
    ]


def _with_first_part(raw: bytes, root: RawPart, part: bytes) -> bytes:
    if not (_is(root, "multipart/mixed") and root.children):
        raw = _wrapped(raw, root)
        root = raw_message.parse(raw)
    at, line_end = root.children[0].line, _line_end(raw)
    return _spliced(raw, (at, at), b"--" + root.boundary + line_end + part + line_end)


def _with_files(raw: bytes, files: Sequence[bytes]) -> bytes:
    root = raw_message.parse(raw)
    if not (_is(root, "multipart/mixed") and root.children):
        raw = _wrapped(raw, root)
        root = raw_message.parse(raw)
    at, line_end = root.children[-1].end, _line_end(raw)
    opening = line_end + b"--" + root.boundary + line_end
    return _spliced(raw, (at, at), b"".join(opening + file for file in files))


def _wrapped(raw: bytes, root: RawPart) -> bytes:
    """Return a message whose content is the first part of a multipart/mixed."""
    line_end, boundary = _line_end(raw), f"=_{secrets.token_hex(16)}".encode()
    content = [field.written for field in root.fields if field.name.startswith("content-")]
    others = [field for field in root.fields if not field.name.startswith("content-")]
    new = {"mime-version": [b"MIME-Version: 1.0" + line_end]}
    mixed = b'Content-Type: multipart/mixed; boundary="' + boundary + b'"' + line_end
    outer = (_head(others, new, raw), mixed, line_end, b"--", boundary, line_end)
    inner = (*content, line_end, raw[root.body : root.end])
    return b"".join((*outer, *inner, line_end, b"--", boundary, b"--", line_end))


def _without_files(raw: bytes, removed: Sequence[Path]) -> bytes:
    root = raw_message.parse(raw)
    files = raw_message.arrange(root).files
    parts = {part.start: (part, parent) for path in removed for part, parent in [_at(root, path)]}
    for _, (part, parent) in sorted(parts.items(), reverse=True):
        if not any(part is file for file in files):
            raise Missing
        is_only = parent is None or all(child.start in parts for child in parent.children)
        empty = _head(part.fields, dict.fromkeys(_FILE_FIELDS, ()), raw) + _line_end(raw)
        span, rest = ((part.start, part.end), empty) if is_only else ((part.line, part.stop), b"")
        raw = _spliced(raw, span, rest)
    return raw


_FILE_FIELDS = (*_CONTENT, "content-disposition", "content-id", "content-description")


def _at(root: RawPart, path: Path) -> tuple[RawPart, RawPart | None]:
    """Return the part at a path, and the one around it."""
    part, parent = root, None
    for place in path if root.children else path[1:]:
        if place >= len(part.children):
            raise Missing
        part, parent = part.children[place], part
    return part, parent


def _check(raw: bytes, edited: bytes, change: DraftChange, removed: Sequence[Path]) -> None:
    """Compare what was not to change, as the edited message is read."""
    root = raw_message.parse(raw)
    gone = {_at(root, path)[0].start for path in removed}
    before, after = raw_message.arrange(root), raw_message.arrange(raw_message.parse(edited))
    files = [raw[part.body : part.end] for part in before.files if part.start not in gone]
    edited_files = [edited[part.body : part.end] for part in after.files]
    is_same = edited_files[: len(files)] == files
    is_same = is_same and len(edited_files) == len(files) + len(change.files)
    if change.body is not None:
        is_same = is_same and len(after.texts) == 1
    elif not removed:
        texts = [raw[part.body : part.end] for part in before.texts]
        is_same = is_same and texts == [edited[part.body : part.end] for part in after.texts]
    if not is_same:
        raise Impossible("The draft cannot be changed without other parts of it.")


def _is(part: RawPart, media_type: str) -> bool:
    return part.media_type == media_type


def _line_end(raw: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in raw[:2000] else b"\n"


def _spliced(raw: bytes, span: tuple[int, int], replacement: bytes) -> bytes:
    return raw[: span[0]] + replacement + raw[span[1] :]
