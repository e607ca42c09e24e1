"""
Messages in files: mbox in its variants, .eml, .emlx, maildir, and folders of all of these.

Bytes are kept to the letter, but for what belongs to the container: the From_ line, the empty line
before the next one and the ``>`` put before lines that look like one.
"""

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_tz
from pathlib import Path

MAX_MESSAGE_BYTES = 40 * 1024 * 1024  # bytes of one message

_FROM_LINE = re.compile(rb"^From [^\r\n]*\r?\n", re.MULTILINE)
# sender, day, month, day of the month, time, year somewhere behind: a From_ line, not prose
_ENVELOPE = re.compile(
    rb"^From (?:\S+|\".*?\"\S*)?\s*(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?\s.*\d\d?:\d\d.*\d{4}|"
    rb"^From \S+@\S+\s*$|^From (?:-|MAILER-DAEMON)?\s*$"
)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_PLAIN_FROM = re.compile(rb"^From ", re.MULTILINE)
_HEADER_LINE = re.compile(rb"[!-9;-~]+[ \t]*:")
_BLANK = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d+)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_FLAGS = re.compile(r"[:;!]2,([A-Za-z]*)$")
_SKIPPED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """
    A message in a file.

    Attributes:
        name: For the report: the file's path below what was asked for, ``#n`` inside an mbox.
        flags: Maildir flags; None where the container has none.
        box: The name of the mailbox or folder it lies in; "" when there is none.
        container_ms: When the container says that it came in, or the file's time; milliseconds.
    """

    name: str
    raw: bytes
    flags: str | None = None
    box: str = ""
    container_ms: int


@dataclass(frozen=True, slots=True)
class SkippedMessage:
    """What cannot be imported, and why."""

    name: str
    reason: str


def read(path: Path) -> Iterator[StoredMessage | SkippedMessage]:
    """Yield every message at *path*, a file or a folder; files in the order of their names."""
    if not path.is_dir():
        yield from _file(path, path.name, sure=True)
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        directory = Path(folder)
        if _is_maildir(directory):
            folders[:] = [name for name in folders if name not in {"cur", "new", "tmp"}]
            yield from _maildir(directory, path)
        for name in sorted(names):
            if name.lower() not in _SKIPPED_FILES:
                yield from _file(
                    directory / name, str((directory / name).relative_to(path)), sure=False
                )


def _file(path: Path, name: str, *, sure: bool) -> Iterator[StoredMessage | SkippedMessage]:
    """Read one file; unless *sure* that it is mail, only a name or content that says so will do."""
    try:
        if not path.is_file():
            yield SkippedMessage(name, "not a regular file")
            return
        size = path.stat().st_size
        with path.open("rb") as opened:
            start = opened.read(5)
            if not size:
                yield SkippedMessage(name, "empty")
            elif start == b"From " or path.suffix.lower() == ".mbox":
                with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    yield from _mbox(content, name, _box_of(path), _mtime_ms(path))
            elif not sure and path.suffix.lower() not in {".eml", ".emlx"}:
                yield SkippedMessage(name, "neither .eml nor mbox")
            elif size > MAX_MESSAGE_BYTES:
                yield SkippedMessage(name, _too_large())
            else:
                raw = start + opened.read()
                raw = _without_count(raw) if path.suffix.lower() == ".emlx" else raw
                yield _message(raw, name, container_ms=_mtime_ms(path))
    except OSError as error:
        yield SkippedMessage(name, f"cannot be read: {error.strerror or type(error).__name__}")


def _message(
    raw: bytes, name: str, *, container_ms: int, flags: str | None = None, box: str = ""
) -> StoredMessage | SkippedMessage:
    if not raw.strip():
        return SkippedMessage(name, "empty")
    if len(raw) > MAX_MESSAGE_BYTES:
        return SkippedMessage(name, _too_large())
    if _HEADER_LINE.match(raw) is None:
        return SkippedMessage(name, "no header lines")
    return StoredMessage(name=name, raw=raw, flags=flags, box=box, container_ms=container_ms)


# mbox


def _mbox(
    content: mmap.mmap, name: str, box: str, mtime_ms: int
) -> Iterator[StoredMessage | SkippedMessage]:
    start = _next_from(content, 0)
    if start is None:
        yield SkippedMessage(name, "no From_ line: not an mbox file")
        return
    if content[:start].strip():
        yield SkippedMessage(f"{name}#0", "text before the first From_ line")
    number = 0
    while start is not None:
        number += 1
        line_end = content.find(b"\n", start) + 1 or len(content)
        end, following = _end_of_message(content, line_end)
        when = _envelope_ms(content[start:line_end]) or mtime_ms
        label = f"{name}#{number}"
        if end - line_end > MAX_MESSAGE_BYTES:
            yield SkippedMessage(label, _too_large())
        else:
            raw = _unquoted(content[line_end:end])
            yield _message(raw, label, container_ms=when, box=box)
        start = following


def _end_of_message(content: mmap.mmap, start: int) -> tuple[int, int | None]:
    """Return where the message that starts at *start* ends, and where the next From_ line is."""
    counted = _counted_end(content, start)
    if counted is not None:
        return counted, _next_from(content, counted)
    following = _next_from(content, start)
    if following is None:
        return len(content), None
    end = following
    for newline in (b"\r\n", b"\n"):
        if content[max(start, end - len(newline)) : end] == newline:
            return end - len(newline), following
    return end, following


def _counted_end(content: mmap.mmap, start: int) -> int | None:
    """Return the end by Content-Length (mboxcl, mboxcl2), None when there is none to be trusted."""
    blank = _BLANK.search(content, start, start + 256 * 1024)
    if blank is None:
        return None
    length = _LENGTH.search(content[start : blank.end()])
    if length is None:
        return None
    end = blank.end() + int(length[1])
    if end > len(content):
        return None
    after = content[end : end + 16].lstrip(b"\r\n")
    return end if not after or after.startswith(b"From ") else None


def _next_from(content: mmap.mmap, start: int) -> int | None:
    """Return the place of the next From_ line at or after *start*."""
    for match in _FROM_LINE.finditer(content, start):
        position, end = match.span()
        before = content[max(0, position - 4) : position]
        follows_blank_line = not before.strip() or before.endswith((b"\n\n", b"\n\r\n"))
        precedes_header = _HEADER_LINE.match(content[end : end + 80]) is not None
        if (follows_blank_line or precedes_header) and _ENVELOPE.match(match[0].rstrip()):
            return position
    return None


def _unquoted(raw: bytes) -> bytes:
    """Take one ``>`` off quoted From_ lines, unless unquoted ones show that nothing was quoted."""
    return raw if _PLAIN_FROM.search(raw) else _QUOTED_FROM.sub(rb"\1", raw)


def _envelope_ms(line: bytes) -> int | None:
    """Return the time in a From_ line, taken for UTC where it names no zone."""
    words = line.decode("ascii", "replace").split()
    for index, word in enumerate(words):
        if word[:3] in {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}:
            return _asctime_ms(" ".join(words[index:]))
    return None


def _asctime_ms(text: str) -> int | None:
    parsed = parsedate_tz(text)
    if parsed is None:
        return None
    try:
        moment = datetime(*parsed[:6], tzinfo=UTC)
    except ValueError:
        return None
    return int((moment.timestamp() - (parsed[9] or 0)) * 1000)


# Maildir and the rest


def _is_maildir(folder: Path) -> bool:
    return (folder / "cur").is_dir() and any((folder / name).is_dir() for name in ("new", "tmp"))


def _maildir(folder: Path, root: Path) -> Iterator[StoredMessage | SkippedMessage]:
    box = folder.name if folder != root else ""
    for kind in ("cur", "new", "tmp"):
        directory = folder / kind
        for path in sorted(directory.iterdir()) if directory.is_dir() else ():
            name = str(path.relative_to(root))
            if path.name.startswith(".") and not path.is_file():
                continue
            if kind == "tmp":
                yield SkippedMessage(name, "still being delivered when it was copied (tmp)")
                continue
            flags = _FLAGS.search(path.name)
            try:
                if path.stat().st_size > MAX_MESSAGE_BYTES:
                    yield SkippedMessage(name, _too_large())
                    continue
                raw, when = path.read_bytes(), _mtime_ms(path)
            except OSError as error:
                yield SkippedMessage(
                    name, f"cannot be read: {error.strerror or type(error).__name__}"
                )
                continue
            letters = flags[1] if flags and kind == "cur" else ""
            yield _message(raw, name, container_ms=when, flags=letters, box=box)


def _without_count(raw: bytes) -> bytes:
    """Return the message inside an .emlx file: a count of bytes, the message, a property list."""
    count, _, rest = raw.partition(b"\n")
    return rest[: int(count)] if count.strip().isdigit() else raw


def _box_of(path: Path) -> str:
    """Return the mailbox an mbox file stands for; some programs call every file "mbox"."""
    return path.parent.stem if path.name == "mbox" else path.stem


def _mtime_ms(path: Path) -> int:
    return int(path.stat().st_mtime * 1000)


def _too_large() -> str:
    return f"larger than {MAX_MESSAGE_BYTES // (1024 * 1024)} MB"
