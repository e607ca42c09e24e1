"""Messages by their locations, and the parts of them that are wanted."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from types import MappingProxyType

from providers.connectors.imap import body_structure
from providers.connectors.imap.folders import GMAIL, GMAIL_LABELS, Folder
from providers.connectors.imap.mapping import (
    FetchedMessage,
    parse_headers,
    preview_text,
    texts_without_charset,
    thread_root,
)
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.received_times import internal_date, received_at
from providers.failures import Missing, TooMuch
from providers.imap import parsing, sequence_sets
from providers.imap.parsing import Row, Value
from providers.imap.response_reader import MAX_LINE
from providers.imap.session import OpenFolder, Rejected, Session, astring
from providers.mail import parameters
from providers.turns import in_turns

PREVIEW_BYTES = 4096  # of the encoded body
LONG_PREVIEW_BYTES = 64 * 1024  # of one whose beginning shows nothing
MAX_BODY = 8 * 1024 * 1024  # bytes of one body; docs/spec/upstream/imap.md#limits
MAX_BODIES = 12 * 1024 * 1024  # bytes of all bodies of one command
# Bytes outside of literals that are kept of a message, which its parts take.
MAX_ROW = 64 * 1024  # of one among others
MAX_ROW_ALONE = MAX_LINE
_MAX_ALONE = 5  # messages of a page that are read alone
_MAX_CHARSETS = 20  # commands for the headers of texts without a charset
# Attribute of `Email` -> its headers. ENVELOPE is not used, because it brings subject, people and
# hidden copies together; each header is asked for by its name instead.
_HEADERS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "subject": ("SUBJECT",),
        "from_": ("FROM",),
        "to": ("TO",),
        "cc": ("CC",),
        "bcc": ("BCC",),
        "sent_at": ("DATE",),
        "importance": ("IMPORTANCE", "X-PRIORITY"),
        "thread_id": ("IN-REPLY-TO", "MESSAGE-ID", "REFERENCES"),
    }
)


async def open_folder(session: Session, folder: bytes, *, writable: bool = False) -> OpenFolder:
    """
    Open a folder, for reading alone unless told otherwise.

    Raises:
        Missing: There is no such folder any more, or it is of another mailbox.
    """
    if session.root is not None and not session.root.holds(folder):
        raise Missing
    selected = session.selected
    if selected is not None and selected.name == folder and selected.is_writable >= writable:
        return selected
    session.selected = None
    try:
        reply = await session.command("SELECT" if writable else "EXAMINE", astring(folder))
    except Rejected as failure:
        raise Missing from failure
    codes = [_UID_VALIDITY.match(line) for line in reply.texts("OK")]
    uid_validity = next((int(code[1]) for code in codes if code), 0)
    permanent = [_PERMANENT_FLAGS.match(line) for line in reply.texts("OK")]
    flags = next((code[1].decode("ascii", "replace").split() for code in permanent if code), None)
    session.selected = OpenFolder(
        folder, writable, uid_validity, None if flags is None else tuple(flags)
    )
    return session.selected


async def open_folder_of(session: Session, location: Location, *, writable: bool = False) -> None:
    """
    Open the folder of a location.

    Raises:
        Missing: The folder is gone, or its UIDs mean other messages now.
    """
    opened = await open_folder(session, location.folder, writable=writable)
    if opened.uid_validity != location.uid_validity:
        raise Missing


async def fetch_message(
    session: Session, location: Location, items: str, *, max_row: int | None = None
) -> Row:
    """
    Return the items of the message at a location; *max_row* as of `Session.fetch`.

    Raises:
        Missing: There is no such message.
    """
    was_open = _has_open(session, location.folder)
    await open_folder_of(session, location)
    rows = await session.fetch(str(location.uid), items, max_row=max_row)
    if location.uid not in rows and was_open:
        await _look_again(session)
        rows = await session.fetch(str(location.uid), items, max_row=max_row)
    if location.uid not in rows:
        raise Missing
    return rows[location.uid]


def _has_open(session: Session, folder: bytes) -> bool:
    return session.selected is not None and session.selected.name == folder


async def _look_again(session: Session) -> None:
    """Learn of the messages that have come since the folder was opened; `UID FETCH` does not."""
    await session.command("NOOP")


_PERMANENT_FLAGS = re.compile(rb"\[PERMANENTFLAGS \(([^)]*)\)\]", re.IGNORECASE)
_UID_VALIDITY = re.compile(rb"\[UIDVALIDITY (\d{1,10})\]", re.IGNORECASE)


async def read(
    session: Session,
    folder: Folder,
    uids: Iterable[int],
    projection: AbstractSet[str],
    ids: MessageIds,
) -> dict[int, FetchedMessage]:
    """
    Read messages of the folder that *session* has open, by UID; those that are gone are left out.

    Raises:
        TooMuch: A body is larger than `MAX_BODY`.
        ProviderFailure: As `Session.command`.
    """
    rows = await _rows(session, list(uids), projection)
    section = _headers_section(projection)
    messages = {}
    async for uid, row in in_turns(rows.items()):
        headers = parse_headers(_whole_lines(_bytes(row.get(section))))
        root = thread_root(headers) if "thread_id" in projection else None
        message_id = ids.message_id(Location(folder.name, folder.uid_validity, uid))
        messages[uid] = FetchedMessage(
            id=message_id,
            received_at=received_at(internal_date(row.get("INTERNALDATE"))),
            folder_label=None if folder.is_store else folder.label,
            labels=_labels(row.get(GMAIL_LABELS)),
            flags=_flags(row.get("FLAGS")),
            structure=body_structure.parse(row.get("BODYSTRUCTURE"), is_cut=row.is_cut),
            headers=headers,
            thread_id=None if root is None else ids.thread_id(root),
        )
    if "body" in projection:
        await _read_bodies(session, messages)
    elif "body_preview" in projection:
        await _read_previews(session, messages)
    await _read_charsets(session, messages)
    return messages


async def _rows(
    session: Session, uids: Sequence[int], projection: AbstractSet[str]
) -> Mapping[int, Row]:
    """
    Return the items of messages by UID; those that are gone are left out.

    A message of very many parts lacks the last ones; a few such messages are read alone, where more
    is kept. All other items are whole.
    """
    with_labels = GMAIL in session.capabilities
    items = _items(projection, with_labels=with_labels)
    rows = await session.fetch(sequence_sets.write(uids), items, max_row=MAX_ROW)
    if not any(row.is_cut for row in rows.values()):
        return rows
    has_nameless = rows.pop(0, None) is not None  # the server writes the UID behind the parts
    expected = {"FLAGS", "INTERNALDATE", _headers_section(projection)} - {""}
    lacking = [
        uid for uid in uids if (not expected <= rows[uid].keys() if uid in rows else has_nameless)
    ]
    if lacking:
        items = _items(projection, with_labels=with_labels, structure=False)
        others = await session.fetch(sequence_sets.write(lacking), items, max_row=MAX_ROW)
        for uid in others.keys() & set(lacking):
            rows[uid] = Row({**rows.get(uid, {}), **others[uid]}, is_cut=True)
    cut = [uid for uid, row in rows.items() if row.is_cut]
    for uid in cut[:_MAX_ALONE] if len(uids) > 1 else ():
        alone = await session.fetch(str(uid), "UID BODYSTRUCTURE", max_row=MAX_ROW_ALONE)
        if uid in alone:
            rows[uid]["BODYSTRUCTURE"] = alone[uid].get("BODYSTRUCTURE")
            rows[uid].is_cut = alone[uid].is_cut
    return rows


def _items(projection: AbstractSet[str], *, with_labels: bool, structure: bool = True) -> str:
    """
    Return the items of the first FETCH; *with_labels*: the server has `X-GM-LABELS`.

    BODYSTRUCTURE is always among them, unless told otherwise: it alone tells whether there are
    attachments. It is the last one, because the end of an answer that is too long is dropped.
    """
    names = _headers(projection)
    section = f" BODY.PEEK[HEADER.FIELDS ({' '.join(names)})]" if names else ""
    labels = f" {GMAIL_LABELS}" if with_labels and "labels" in projection else ""
    return f"UID FLAGS INTERNALDATE{labels}{section}{' BODYSTRUCTURE' if structure else ''}"


def _headers(projection: AbstractSet[str]) -> list[str]:
    """Return the names of the headers that wanted attributes are read from, in order."""
    return sorted(name for key in projection & _HEADERS.keys() for name in _HEADERS[key])


def _headers_section(projection: AbstractSet[str]) -> str:
    names = _headers(projection)
    return f"BODY[HEADER.FIELDS ({' '.join(names)})]" if names else ""


async def read_messages(
    session: Session,
    locations: Sequence[Location],
    projection: AbstractSet[str],
    ids: MessageIds,
    *,
    folders: Mapping[bytes, Folder],
) -> dict[str, FetchedMessage]:
    """
    Read messages by native id, in the order of their locations; those that are gone are left out.

    Args:
        session: Opens one folder after the other.
        locations: Where the messages are.
        projection: Attributes of `Email`.
        ids: The ids of the connection.
        folders: Folders by name, where labels are wanted.
    """
    by_folder = defaultdict(list)
    for location in locations:
        by_folder[location.folder, location.uid_validity].append(location)
    messages: dict[str, FetchedMessage] = {}
    for (name, uid_validity), some in by_folder.items():
        known = folders.get(name)
        folder = Folder(
            name=name,
            role=None if known is None else known.role,
            prefix=b"" if known is None else known.prefix,
            is_store=known is not None and known.is_store,
            messages=0,
            uid_next=0,
            uid_validity=uid_validity,
        )
        was_open = _has_open(session, name)
        try:
            await open_folder_of(session, some[0])
        except Missing:
            continue
        uids = [location.uid for location in some]
        read_messages = await read(session, folder, uids, projection, ids)
        absent = [uid for uid in uids if uid not in read_messages]
        if absent and was_open:
            await _look_again(session)
            read_messages |= await read(session, folder, absent, projection, ids)
        messages |= {message.id: message for message in read_messages.values()}
    ordered = map(ids.message_id, locations)
    return {name: messages[name] for name in ordered if name in messages}


async def _read_previews(session: Session, messages: Mapping[int, FetchedMessage]) -> None:
    for section, uids in _by_first_section(messages).items():
        await _read_beginnings(session, messages, section, uids, PREVIEW_BYTES)
        blank = [uid for uid in uids if _begins_blank(messages[uid])]
        if blank:  # such as a long style sheet
            await _read_beginnings(session, messages, section, blank, LONG_PREVIEW_BYTES)


async def _read_beginnings(
    session: Session,
    messages: Mapping[int, FetchedMessage],
    section: str,
    uids: Sequence[int],
    count: int,
) -> None:
    items = f"UID BODY.PEEK[{section}]<0.{count}>"
    rows = await session.fetch(sequence_sets.write(uids), items)
    for uid in uids:
        messages[uid].preview = _bytes(rows.get(uid, Row()).get(f"BODY[{section}]"))


def _begins_blank(message: FetchedMessage) -> bool:
    part, content = message.structure.arrangement.texts[0], message.preview or b""
    is_cut = len(content) >= PREVIEW_BYTES and len(content) < part.size
    return is_cut and not preview_text(message, content)


def _by_first_section(messages: Mapping[int, FetchedMessage]) -> Mapping[str, list[int]]:
    """Return the UIDs of the messages whose first text is the part of each number."""
    by_section = defaultdict(list)
    for uid, message in messages.items():
        for part in message.structure.arrangement.texts[:1]:
            by_section[part.section].append(uid)
    return by_section


async def _read_bodies(session: Session, messages: Mapping[int, FetchedMessage]) -> None:
    for sections, uids in _by_sections(messages).items():
        items = " ".join(("UID", *(f"BODY.PEEK[{section}]" for section in sections)))
        for some in _portions(uids, messages):
            rows = await session.fetch(sequence_sets.write(some), items)
            for uid in some:
                row = rows.get(uid, Row())
                messages[uid].bodies = {
                    section: _bytes(row.get(f"BODY[{section}]")) for section in sections
                }


def _by_sections(messages: Mapping[int, FetchedMessage]) -> Mapping[tuple[str, ...], list[int]]:
    """Return the UIDs of the messages whose texts are the parts of the same numbers."""
    by_sections = defaultdict(list)
    for uid, message in messages.items():
        sections = tuple(part.section for part in message.structure.arrangement.texts)
        if sections:
            by_sections[sections].append(uid)
    return by_sections


async def _read_charsets(session: Session, messages: Mapping[int, FetchedMessage]) -> None:
    """Read the headers of texts of which nothing else tells the charset."""
    by_section = defaultdict(list)
    async for uid, message in in_turns(messages.items()):
        for part in texts_without_charset(message):
            is_single = message.structure.is_single
            headers = "HEADER.FIELDS (CONTENT-TYPE)" if is_single else f"{part.section}.MIME"
            by_section[part.section, headers].append(uid)
    for (section, headers), uids in islice(by_section.items(), _MAX_CHARSETS):
        try:
            items = f"UID BODY.PEEK[{headers}]<0.{PREVIEW_BYTES}>"
            rows = await session.fetch(sequence_sets.write(uids), items)
        except Rejected:  # some servers have no headers of parts
            continue
        for uid in uids:
            block = _bytes(rows.get(uid, Row()).get(f"BODY[{headers}]"))
            charset = parameters.charset(parse_headers(block).get("content-type", ""))
            if charset:
                messages[uid].charsets[section] = charset


def _portions(uids: Sequence[int], messages: Mapping[int, FetchedMessage]) -> Iterable[list[int]]:
    portion: list[int] = []
    size = 0
    for uid in uids:
        length = sum(part.size for part in messages[uid].structure.arrangement.texts)
        if length > MAX_BODY:
            raise TooMuch
        if portion and size + length > MAX_BODIES:
            yield portion
            portion, size = [], 0
        portion.append(uid)
        size += length
    if portion:
        yield portion


def _labels(value: Value) -> tuple[str, ...]:
    labels = value if isinstance(value, list) else []
    return tuple([parsing.text(label) for label in labels])


def _whole_lines(block: bytes) -> bytes:
    """Return a block of headers, without the last entry or line if its end was dropped."""
    if len(block) < MAX_ROW:
        return block
    return block[: max(block.rfind(b","), block.rfind(b"\n")) + 1]


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else b""


def _flags(value: Value) -> frozenset[str]:
    flags = value if isinstance(value, list) else []
    texts = map(parsing.text, flags)
    return frozenset(flag.lower() if flag.startswith("\\") else flag for flag in texts)
