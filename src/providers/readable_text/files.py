"""
Readable text of files (docs/spec/readable-text.md#files).

Documents are read by a process of their own (`document_reader`), because a parser of PDF can
neither be stopped in a thread nor be trusted with time. Nothing is written to a disk.
"""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import MappingProxyType
from typing import IO
from weakref import WeakKeyDictionary

import msgspec

from providers.mail import charsets
from providers.readable_text import document_reader as program
from providers.readable_text.quoted_history import readable_body

MAX_FILE = 64 * 1024 * 1024  # bytes; docs/spec/limits.md#sizes
MAX_PLAIN = 4 * 1024 * 1024  # bytes of a text that are read
MAX_TEXT = program.MAX_TEXT
SECONDS = 10.0  # of the clock, for one of processor time
MAX_PROCESSES = 2

_DOCUMENTS = frozenset(program.READERS)
_KINDS = MappingProxyType(
    {
        "text/html": "html",
        "application/xhtml+xml": "html",
        "text/calendar": "folded",
        "text/vcard": "folded",
        "application/json": "text",
        "application/xml": "text",
        "application/yaml": "text",
        "application/x-yaml": "text",
        "application/rtf": "",
        "text/rtf": "",
        "application/pdf": "pdf",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    }
)
_ENDINGS = MappingProxyType(
    {
        **{kind: kind for kind in program.READERS},
        **dict.fromkeys(("htm", "html"), "html"),
        **dict.fromkeys(("ics", "vcf"), "folded"),
        **dict.fromkeys(("txt", "md", "csv", "tsv", "json", "xml", "yaml", "yml", "log"), "text"),
    }
)
_CHARSET = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,60})""", re.IGNORECASE)
_FOLD = re.compile(r"\r?\n[ \t]")


class FileText(msgspec.Struct, frozen=True):
    """Text of a file; *is_cut*: whether there is more that was not read."""

    content: str
    is_cut: bool


class NoText(Exception):
    """The file has no text that the gateway reads; *reason* is a sentence that is safe to show."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooLargeForText(Exception):
    """The file is too large, or its text takes too much time, memory or room."""


def kind_of(name: str, media_type: str | None) -> str:
    """
    Return the kind of a file by its type, or by the ending of its name where the type says little.

    Raises:
        NoText: The gateway reads no text of such a file.
    """
    declared = (media_type or "").partition(";")[0].strip().lower()
    kind = _KINDS.get(declared) or _ENDINGS.get(name.rpartition(".")[2].lower())
    if kind is None and declared.startswith("text/") and declared not in _KINDS:
        kind = "text"
    if not kind:
        raise NoText(
            "The gateway reads the text of text files, HTML, calendars, Word, Excel and PowerPoint "
            "documents, and PDF, and this file is none of them."
        )
    return kind


async def text_of_file(kind: str, media_type: str | None, chunks: AsyncIterator[bytes]) -> FileText:
    """
    Return the text of a file of a *kind* that `kind_of` returned, whose bytes are *chunks*.

    Raises:
        NoText: The file is damaged or encrypted, or there is no reader of its kind here.
        TooLargeForText: It exceeds a limit before any text of it was read.
    """
    async with _slots():
        with _memory_file() as file:
            most = MAX_FILE if kind in _DOCUMENTS else MAX_PLAIN
            is_cut = await _copy(chunks, file, most)
            if kind in _DOCUMENTS and is_cut:
                raise TooLargeForText
            file.seek(0)
            if kind in _DOCUMENTS:
                return await _read_document(kind, file)
            content = file.read()
    return await asyncio.to_thread(_read_plain, kind, media_type, content, is_cut=is_cut)


async def _copy(chunks: AsyncIterator[bytes], file: IO[bytes], most: int) -> bool:
    """Copy at most *most* bytes to *file*; return whether there are more."""
    left = most
    async for chunk in chunks:
        if len(chunk) > left:
            file.write(chunk[:left])
            return True
        file.write(chunk)
        left -= len(chunk)
    return False


def _memory_file() -> IO[bytes]:
    """Return a file that is nowhere on a disk, where the system has such files."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("text"), "w+b")
    return tempfile.TemporaryFile()


_slots_of_loop: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = (
    WeakKeyDictionary()
)


def _slots() -> asyncio.Semaphore:
    """Return the semaphore of the running loop, which bounds memory and processor time."""
    loop = asyncio.get_running_loop()
    return _slots_of_loop.setdefault(loop, asyncio.Semaphore(MAX_PROCESSES))


async def _read_document(kind: str, file: IO[bytes]) -> FileText:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", str(Path(program.__file__)), kind),
        stdin=file,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    written = bytearray()
    is_late = False
    try:
        async with asyncio.timeout(SECONDS):
            while chunk := await process.stdout.read(65536):  # type: ignore[union-attr]  # a pipe
                written += chunk
            await process.wait()
    except TimeoutError:
        is_late = True
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = written.decode("utf-8", "ignore")
    status = process.returncode or 0
    if status == 0 or text:
        return FileText(text, is_cut=status != 0 or is_late)
    if is_late or status < 0 or status in {program.CUT, program.TOO_LARGE}:
        raise TooLargeForText
    raise NoText(_REASONS.get(status, "The file is damaged, or is not what its type says."))


_REASONS = MappingProxyType(
    {
        program.ENCRYPTED: "The file is encrypted.",
        program.NO_READER: "This gateway has no reader of PDF: its extra `text` is not installed.",
    }
)


def _read_plain(kind: str, media_type: str | None, content: bytes, *, is_cut: bool) -> FileText:
    charset = _CHARSET.search((media_type or "")[:1000])
    text = charsets.decode_or_utf8(
        content, charset[1] if charset else None, is_html=kind == "html", is_cut=is_cut
    ).replace("\r\n", "\n")
    if kind == "html":
        text = readable_body(text, is_html=True, quoted=True, subject=None)
    elif kind == "folded":
        text = _FOLD.sub("", text)
    return FileText(text[:MAX_TEXT], is_cut=is_cut or len(text) > MAX_TEXT)
