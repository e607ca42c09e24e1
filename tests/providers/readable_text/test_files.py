"""Readable text of files: docs/spec/readable-text.md#files."""

import subprocess
import sys
import time

import documents
import loop_stopwatch
import pytest
from documents import excel, paragraphs, pdf, word
from time_bounds import time_bound

from providers.readable_text import document_reader, files

DATES = (
    '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy"/>'
    '<numFmt numFmtId="165" formatCode="0.0&quot;days&quot;"/></numFmts><cellStyleXfs><xf/>'
    '</cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/>'
    '<xf numFmtId="165"/></cellXfs></styleSheet>'
)
CELLS = (
    '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>When</t></is></c></row><row/>'
    '<row><c r="A3" t="b"><v>1</v></c><c r="B3" s="1"><v>46329</v></c><c r="C3" s="2"><v>46329.5'
    '</v></c><c r="D3" s="3"><v>46329</v></c><c r="E3" s="1"><v>0.25</v></c>'
    '<c r="F3" t="e"><v>#N/A</v></c></row>'
)
TABLE = (
    f"<w:tbl><w:tr><w:tc>{paragraphs('A')}</w:tc><w:tc>{paragraphs('1')}</w:tc></w:tr>"
    f"<w:tr><w:tc>{paragraphs('B', 'b')}</w:tc><w:tc>{paragraphs('2')}</w:tc></w:tr></w:tbl>"
)
ROWS = {
    "paragraphs of Word": (
        "docx",
        word(paragraphs("One", "Two &amp; three")),
        "One\nTwo & three\n",
    ),
    "tabs and lines of Word": (
        "docx",
        word("<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"),
        "a\tb\nc\n",
    ),
    "a table of Word": ("docx", word(TABLE), "A | 1\nB b | 2\n"),
    "deleted and repeated text of Word": (
        "docx",
        word(
            "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>here</w:t></w:r>"
            f"<mc:Fallback xmlns:mc='mc'>{paragraphs('again')}</mc:Fallback></w:p>"
        ),
        "here\n",
    ),
    "cells of Excel": (
        "xlsx",
        excel(CELLS, strings="<si><r><t>Na</t></r><r><t>me</t></r></si>", styles=DATES),
        "[Sheet Yard]\nName |  | When\n"
        "TRUE | 2026-11-03 | 2026-11-03 12:00:00 | 46329 | 06:00:00 | #N/A\n",
    ),
    "slides of PowerPoint": (
        "pptx",
        documents.powerpoint(),
        "[Slide 1]\nFirst\nof two\nSay hello\n[Slide 2]\nSecond\n",
    ),
    "HTML": ("html", b"<p>One<p>Two", "One\nTwo"),
    "a calendar": ("folded", b"SUMMARY:Oa\r\n rs\r\nEND:VEVENT\r\n", "SUMMARY:Oars\nEND:VEVENT\n"),
    "a text": ("text", "Müller\r\n".encode(), "Müller\n"),
}
# Made when they are read, since they are large.
HOSTILE = {
    "a part of 120 MB": ("docx", lambda: word("<w:t>x</w:t>" * 10_000_000)),
    "entities": (
        "docx",
        lambda: documents.package(
            {"word/document.xml": "<!DOCTYPE d [<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;'>]><d>&b;</d>"}
        ),
    ),
    "an element in an element": ("docx", lambda: word("<w:a>" * 5_000_000)),
    "many parts": ("docx", lambda: documents.package({f"a/{n}.xml": "" for n in range(60_000)})),
    "rows": ("xlsx", lambda: excel('<row><c r="ZZZ1"><v>1</v></c></row>' * 2_000_000)),
    "strings": ("xlsx", lambda: excel("", strings="<si><t>x</t></si>" * 3_000_000)),
    "no document": ("docx", lambda: b"PK\x03\x04" + b"\0" * 1000),
    "an empty file": ("pptx", lambda: b""),
}
HOSTILE_PDFS = {
    "a million objects": lambda: pdf("One", objects=1_000_000),
    "many pages": lambda: pdf(*["One"] * 20_000),
    "no cross references": lambda: pdf("One", objects=300_000).replace(b"startxref", b"nothing!!"),
    "a large stream": lambda: pdf("a" * 8_000_000),
}


async def pieces(content):
    for start in range(0, len(content), 65536):
        yield content[start : start + 65536]


async def read(kind, content, media_type=None):
    return await files.text_of_file(kind, media_type, pieces(content))


@pytest.mark.parametrize("name", ROWS)
async def test_it_reads(name):
    kind, content, text = ROWS[name]
    assert await read(kind, content) == files.FileText(text, is_cut=False)


async def test_a_text_is_decoded_by_its_charset():
    text = await read("text", "Müller".encode("cp1252"), "text/plain; charset=iso-8859-1")
    assert text == files.FileText("Müller", is_cut=False)


async def test_it_reads_the_pages_of_a_pdf():
    assert await read("pdf", pdf("One", "Two")) == files.FileText("One\nTwo\n", is_cut=False)


async def test_without_its_reader_a_pdf_is_refused(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without packages
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(files.NoText, match="extra `text`"):
        await read("pdf", pdf("One"))


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx", "pdf"])
async def test_what_is_damaged_is_refused(kind):
    with pytest.raises(files.NoText, match="damaged"):
        await read(kind, b"junk" * 1000)


async def outcome(kind, content):
    """Return what came of a hostile file; the loop was never held, and time was bounded."""
    began, cpu = time.monotonic(), time.process_time()
    with loop_stopwatch.running() as watch:
        try:
            text = await read(kind, content)
            result = "cut" if text.is_cut else "whole"
            assert len(text.content) <= files.MAX_TEXT
        except (files.NoText, files.TooLargeForText) as refusal:
            result = type(refusal).__name__
    assert time.monotonic() - began < time_bound(2 * files.SECONDS)
    assert time.process_time() - cpu < time_bound(1)
    assert watch.longest < loop_stopwatch.MOST_SECONDS
    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_document_is_bounded(name):
    assert await outcome(HOSTILE[name][0], HOSTILE[name][1]()) in {
        "cut",
        "NoText",
        "TooLargeForText",
        "whole",
    }
    assert await outcome("docx", word(paragraphs("One"))) == "whole"


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE_PDFS)
async def test_a_hostile_pdf_is_bounded(name):
    assert await outcome("pdf", HOSTILE_PDFS[name]()) in {"cut", "NoText", "TooLargeForText"}


# Runs the words that follow; writes the largest memory of the process, in KiB, to standard error.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], env={}, check=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HOSTILE, *HOSTILE_PDFS])
def test_a_hostile_document_takes_at_most_64_mib(tmp_path, name):
    kind, make = HOSTILE.get(name) or ("pdf", HOSTILE_PDFS[name])
    path = tmp_path / "document"
    path.write_bytes(make())
    words = [sys.executable, "-I", "-B", document_reader.__file__, kind]
    with path.open("rb") as file:
        measured = subprocess.run(
            [sys.executable, "-c", MEASURED, *words], stdin=file, capture_output=True, check=True
        )
    kibibytes = int(measured.stderr.splitlines()[-1])
    print(name, kibibytes)  # noqa: T201
    assert kibibytes <= 64 * 1024


async def test_a_part_that_expands_is_cut():
    content = word(paragraphs("One", *["x" * 1_000_000] * 3))
    text = await read("docx", content)
    assert len(content) < 20_000
    assert (text.is_cut, text.content[:4]) == (True, "One\n")
    assert len(text.content) <= files.MAX_TEXT


async def test_a_file_that_is_too_large_is_not_read_further():
    seen = 0

    async def endless():
        nonlocal seen
        while True:
            seen += 1024 * 1024
            yield bytes(1024 * 1024)

    with pytest.raises(files.TooLargeForText):
        await files.text_of_file("pdf", None, endless())
    assert seen == files.MAX_FILE + 1024 * 1024


@pytest.mark.parametrize(
    ("name", "media_type", "kind"),
    [
        ("a.pdf", "application/octet-stream", "pdf"),
        ("a", "application/pdf; name=a", "pdf"),
        ("A.DOCX", None, "docx"),
        ("a.pdf", "text/plain", "pdf"),
        ("a.ics", "text/calendar", "folded"),
        ("a", "text/x-python", "text"),
        ("a", "TEXT/HTML", "html"),
    ],
)
def test_the_kind_of_a_file(name, media_type, kind):
    assert files.kind_of(name, media_type) == kind


@pytest.mark.parametrize(("name", "media_type"), [("a.png", "image/png"), ("a", None), ("", "")])
def test_a_file_without_text(name, media_type):
    with pytest.raises(files.NoText, match="is none of them"):
        files.kind_of(name, media_type)
