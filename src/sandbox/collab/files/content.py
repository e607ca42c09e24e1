"""File bytes, generated from a recipe or uploaded; MIME types and extracted text."""

import io
import re
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from html import escape, unescape
from pathlib import PurePath

from sandbox.collab import records as r
from sandbox.collab.files.blobs import CHUNK_SIZE, BlobStore
from sandbox.world.mail import attachment_files

_OFFICE = "application/vnd.openxmlformats-officedocument"
MIME_TYPES: Mapping[str, str] = {
    ".txt": "text/plain",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".html": "text/html",
    ".htm": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".xml": "text/xml",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
    ".webp": "image/webp",
    ".heic": "image/heic",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".zip": "application/zip",
    ".gz": "application/gzip",
    ".eml": "message/rfc822",
    ".ics": "text/calendar",
    ".rtf": "application/rtf",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
}
# File types that can carry a sensitivity label.
LABELABLE_SUFFIXES = frozenset((".docx", ".xlsx", ".pptx", ".pdf"))
MAX_INDEXED_BYTES = 4 * 1024 * 1024  # bytes; of larger files only the beginning is indexed


def suffix(name: str) -> str:
    """Return the suffix of a file name, lower case, dot included."""
    return PurePath(name).suffix.lower()


def mime_type(name: str, declared: str = "") -> str:
    """Return the MIME type that upstream derives from the suffix, else the declared type."""
    declared_type = declared.partition(";")[0].strip().lower()
    if declared_type in ("", "application/octet-stream", "application/x-www-form-urlencoded"):
        declared_type = "application/octet-stream"
    return MIME_TYPES.get(suffix(name), declared_type)


def generate(source: Sequence[str]) -> bytes:
    """Generate the bytes of a recipe (kind and lines); deterministic."""
    kind, *lines = source
    return _GENERATORS[kind](lines)


def read_chunks(blobs: BlobStore, item: r.Item, start: int, end: int) -> AsyncIterator[bytes]:
    """Yield the bytes of a file from *start* to *end* (exclusive)."""
    return (
        blobs.read_chunks(item.blob, start, end)
        if item.blob
        else _generate_chunks(item, start, end)
    )


async def _generate_chunks(item: r.Item, start: int, end: int) -> AsyncIterator[bytes]:
    content = generate(item.source) if item.source else b""
    for position in range(start, end, CHUNK_SIZE):
        yield content[position : min(position + CHUNK_SIZE, end)]


def extract_text(name: str, head: bytes) -> str:
    """Extract the text of a file's first bytes, "" for unsupported types."""
    ending = suffix(name)
    if MIME_TYPES.get(ending, "").startswith("text/") or ending in (".json", ".svg", ".eml"):
        text = head.decode("utf-8", "replace")
        return unescape(re.sub(r"<[^<>]*>", " ", text)) if ending in (".html", ".htm") else text
    if ending in (".docx", ".xlsx", ".pptx", ".odt", ".ods"):
        return _office_text(head)
    return ""


def _office_text(content: bytes) -> str:
    """Extract the text of an office file's XML parts."""
    texts = []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for part in archive.infolist():
                is_text = re.search(
                    r"(document|sharedStrings|sheet\d+|slide\d+|content)\.xml$", part.filename
                )
                if is_text and part.file_size <= MAX_INDEXED_BYTES:
                    xml = archive.read(part).decode("utf-8", "replace")
                    texts.append(unescape(re.sub(r"<[^<>]*>", " ", xml)))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        return ""
    return " ".join(texts)


def _text(lines: Sequence[str]) -> bytes:
    return "\n".join((*lines, "")).encode()


def _html(lines: Sequence[str]) -> bytes:
    body = "\n".join(f"<p>{escape(line)}</p>" for line in lines[1:])
    title = escape(lines[0]) if lines else ""
    return f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n{body}\n".encode()


def _svg(lines: Sequence[str]) -> bytes:
    texts = "".join(
        f'<text x="10" y="{20 + 18 * line_number}">{escape(line)}</text>'
        for line_number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">{texts}</svg>'.encode()
    )


def _png(lines: Sequence[str]) -> bytes:
    seed = sum(" ".join(lines).encode())
    return attachment_files.png(
        16 + seed % 32, 16 + seed % 24, (seed % 256, seed * 7 % 256, seed * 13 % 256)
    )


def _docx(lines: Sequence[str]) -> bytes:
    runs = "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in lines)
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = f'<w:document xmlns:w="{space}"><w:body>{runs}</w:body></w:document>'
    kind = f"{MIME_TYPES['.docx']}.main+xml"
    return _package("word/document.xml", document, kind)


def _xlsx(lines: Sequence[str]) -> bytes:
    rows = "".join(
        "<row>"
        + "".join(
            f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' for cell in line.split(";")
        )
        + "</row>"
        for line in lines
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
    book = (
        f'<workbook xmlns="{space}" xmlns:r="{_RELATIONS}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    link = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" '
        'Target="worksheets/sheet1.xml"/></Relationships>'
    )
    more = (("xl/worksheets/sheet1.xml", sheet), ("xl/_rels/workbook.xml.rels", link))
    extra = {"xl/worksheets/sheet1.xml": f"{_OFFICE}.spreadsheetml.worksheet+xml"}
    return _package(
        "xl/workbook.xml", book, f"{MIME_TYPES['.xlsx']}.main+xml", more=more, part_types=extra
    )


_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _package(
    main_path: str,
    main_part: str,
    main_type: str,
    *,
    more: Sequence[tuple[str, str]] = (),
    part_types: Mapping[str, str] | None = None,
) -> bytes:
    """Build an Office Open XML package of parts and their content types."""
    overrides = "".join(
        f'<Override PartName="/{part}" ContentType="{content_type}"/>'
        for part, content_type in {main_path: main_type, **(part_types or {})}.items()
    )
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f"{overrides}</Types>"
    )
    root = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="{main_path}"/>'
        "</Relationships>"
    )
    parts = (("[Content_Types].xml", types), ("_rels/.rels", root), (main_path, main_part), *more)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts:
            entry = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            archive.writestr(entry, text.encode())
    return buffer.getvalue()


_GENERATORS: Mapping[str, Callable[[Sequence[str]], bytes]] = {
    "text": _text,
    "html": _html,
    "svg": _svg,
    "png": _png,
    "pdf": attachment_files.pdf,
    "docx": _docx,
    "xlsx": _xlsx,
}
