"""Small files to attach: PDF, PNG, CSV, iCalendar. The same input gives the same bytes."""

import struct
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime


def pdf(lines: Sequence[str]) -> bytes:
    """Return a PDF of one page with *lines* in Helvetica."""
    shown = "".join(f"({_escaped(line)}) Tj T*\n" for line in lines)
    stream = f"BT /F1 12 Tf 16 TL 60 780 Td\n{shown}ET".encode("latin-1", "replace")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    )
    written = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return written + (
        b"xref\n0 6\n0000000000 65535 f \n%btrailer\n<< /Size 6 /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (table, len(written))
    )


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Return a PNG of one colour with a darker band along the bottom, like a waterline."""
    dark = tuple(value * 2 // 3 for value in colour)
    waterline = height * 2 // 3
    rows = b"".join(
        b"\0" + bytes(dark if row > waterline else colour) * width for row in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
        for tag, data in chunks
    )


def csv(rows: Iterable[Sequence[object]], *, separator: str = ";", charset: str = "utf-8") -> bytes:
    """Return *rows* as CSV with CRLF line ends."""
    lines = (separator.join(str(cell) for cell in row) for row in rows)
    return "".join(f"{line}\r\n" for line in lines).encode(charset)


def invitation(
    *, uid: str, title: str, start: datetime, end: datetime, organiser: str, guest: str, place: str
) -> str:
    """Return an iCalendar invitation (RFC 5546); *start* and *end* are UTC."""
    form = "%Y%m%dT%H%M%SZ"
    return "\r\n".join(
        (
            "BEGIN:VCALENDAR",
            "PRODID:-//Harbourlight//Planner 4.1//EN",
            "VERSION:2.0",
            "METHOD:REQUEST",
            "BEGIN:VEVENT",
            f"UID:{uid}",
            f"DTSTAMP:{start.strftime(form)}",
            f"DTSTART:{start.strftime(form)}",
            f"DTEND:{end.strftime(form)}",
            f"SUMMARY:{title}",
            f"LOCATION:{place}",
            f"ORGANIZER:mailto:{organiser}",
            f"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{guest}",
            "SEQUENCE:0",
            "STATUS:CONFIRMED",
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        )
    )


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
