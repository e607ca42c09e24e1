"""
Messages in mbox variants, .eml, .emlx and maildir files, and in folders of these.

The bytes of a message are unchanged, except for what belongs to the mbox container: the From_
line, the empty line before the next one, and the ``>`` before quoted From_ lines.
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
_WEEKDAY = re.compile(rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?")
_CLOCK = re.compile(rb"\d:\d\d")
_YEAR = re.compile(rb"\d{4}")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_PLAIN_FROM = re.compile(rb"^From ", re.MULTILINE)
_HEADER_LINE = re.compile(rb"[!-9;-~]+[ \t]*:")
# Other text has lines with a colon too, but hardly these.
_MAIL_HEADER = re.compile(
    rb"^(?:from|to|date|subject|message-id|received|return-path|mime-version|content-type)[ \t]*:",
    re.MULTILINE | re.IGNORECASE,
)
_HEAD_BYTES = 64 * 1024
_BLANK = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d+)[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_FLAGS = re.compile(r"[:;!]2,([A-Za-z]*)$")
_SKIPPED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """
    A message in a file.

    Attributes:
        name: For the report: path below the imported path, with ``#n`` inside an mbox.
        flags: Maildir flags; None for containers without flags.
        box: Name of the mailbox or folder, "" for none.
        container_ms: Arrival time by the container, or the file's time; epoch milliseconds.
    """

    name: str
    raw: bytes
    flags: str | None = None
    box: str = ""
    container_ms: int


@dataclass(frozen=True, slots=True)
class SkippedMessage:
    """A message or file that cannot be imported, and the reason."""

    name: str
    reason: str


def read(path: Path) -> Iterator[StoredMessage | SkippedMessage]:
    """Yield all messages of a file or folder; files in the order of their names."""
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
    """Read one file; unless *sure* that it is mail, its name or content must show it."""
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
                    yield from _mbox(content, name, _box_name(path), _mtime_ms(path))
            elif not sure and path.suffix.lower() not in {".eml", ".emlx"}:
                yield SkippedMessage(name, "neither .eml nor mbox")
            elif size > MAX_MESSAGE_BYTES:
                yield SkippedMessage(name, _too_large())
            else:
                raw = start + opened.read()
                raw = _extract_emlx(raw) if path.suffix.lower() == ".emlx" else raw
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
    head = _BLANK.split(raw[:_HEAD_BYTES], maxsplit=1)[0]
    if _HEADER_LINE.match(raw) is None or _MAIL_HEADER.search(head) is None:
        return SkippedMessage(name, "no header lines")
    return StoredMessage(name=name, raw=raw, flags=flags, box=box, container_ms=container_ms)


# mbox


def _mbox(
    content: mmap.mmap, name: str, box: str, mtime_ms: int
) -> Iterator[StoredMessage | SkippedMessage]:
    start = _find_from_line(content, 0)
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
            raw = _unquote(content[line_end:end])
            yield _message(raw, label, container_ms=when, box=box)
        start = following


def _end_of_message(content: mmap.mmap, start: int) -> tuple[int, int | None]:
    """Return the end of the message at *start*, and the offset of the next From_ line."""
    counted = _counted_end(content, start)
    if counted is not None:
        return counted, _find_from_line(content, counted)
    following = _find_from_line(content, start)
    if following is None:
        return len(content), None
    end = following
    for newline in (b"\r\n", b"\n"):
        if content[max(start, end - len(newline)) : end] == newline:
            return end - len(newline), following
    return end, following


def _counted_end(content: mmap.mmap, start: int) -> int | None:
    """Return the end by Content-Length (mboxcl, mboxcl2), None when it is absent or wrong."""
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


def _find_from_line(content: mmap.mmap, start: int) -> int | None:
    """Return the offset of the next From_ line at or after *start*."""
    for match in _FROM_LINE.finditer(content, start):
        position, end = match.span()
        before = content[max(0, position - 4) : position]
        follows_blank_line = not before.strip() or before.endswith((b"\n\n", b"\n\r\n"))
        precedes_header = _HEADER_LINE.match(content[end : end + 80]) is not None
        if (follows_blank_line or precedes_header) and _is_envelope(match[0]):
            return position
    return None


def _is_envelope(line: bytes) -> bool:
    """Tell a From_ line (sender, weekday, time and year) from prose."""
    text = line.removeprefix(b"From ").strip()
    words = text.split()
    if len(words) < 2:
        return text in (b"", b"-", b"MAILER-DAEMON") or b"@" in text[1:-1]
    if text.startswith(b'"'):  # a sender with blanks
        _, _, text = text[1:].partition(b'"')
        words = [b"", *text.split()[not text[:1].isspace() :]]
    for start in (0, 1):
        if start < len(words) and _WEEKDAY.fullmatch(words[start]):
            date = b" ".join(words[start + 1 :])
            clock = _CLOCK.search(date)
            return clock is not None and _YEAR.search(date, clock.end()) is not None
    return False


def _unquote(raw: bytes) -> bytes:
    """Unquote From_ lines, unless unquoted ones show that the file does not quote."""
    return raw if _PLAIN_FROM.search(raw) else _QUOTED_FROM.sub(rb"\1", raw)


def _envelope_ms(line: bytes) -> int | None:
    """Return the time of a From_ line in epoch milliseconds, UTC by default."""
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


def _extract_emlx(raw: bytes) -> bytes:
    """Return the message of an .emlx file: byte count, message, property list."""
    count, _, rest = raw.partition(b"\n")
    return rest[: int(count)] if count.strip().isdigit() else raw


def _box_name(path: Path) -> str:
    """Return the mailbox name of an mbox file; some programs name every file "mbox"."""
    return path.parent.stem if path.name == "mbox" else path.stem


def _mtime_ms(path: Path) -> int:
    return int(path.stat().st_mtime * 1000)


def _too_large() -> str:
    return f"larger than {MAX_MESSAGE_BYTES // (1024 * 1024)} MB"
