"""Small documents of each kind, and hostile ones, made without the programs that usually do."""

import io
import zipfile
from collections.abc import Mapping

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"


def package(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip file of *parts*, by their names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def word(body: str) -> bytes:
    """Return a document of Word; the elements of *body* have the prefix `w`."""
    return package({"word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>"})


def paragraphs(*texts: str) -> str:
    return "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)


def relationships(**targets: str) -> str:
    rows = "".join(f'<Relationship Id="{id_}" Target="{to}"/>' for id_, to in targets.items())
    return f'<Relationships xmlns="{_RELATIONSHIPS}">{rows}</Relationships>'


def excel(rows: str, *, strings: str = "", styles: str = "<styleSheet/>") -> bytes:
    """Return a workbook with one sheet, `Yard`."""
    return package(
        {
            "xl/workbook.xml": (
                f'<workbook {_R}><sheets><sheet name="Yard" r:id="a"/></sheets></workbook>'
            ),
            "xl/_rels/workbook.xml.rels": relationships(a="worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
            "xl/sharedStrings.xml": f"<sst>{strings}</sst>",
            "xl/styles.xml": styles,
        }
    )


def slide(*texts: str) -> str:
    rows = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    return f"<p:sld {_A} xmlns:p='p'>{rows}</p:sld>"


def powerpoint() -> bytes:
    """Return two slides in another order than their names, the first with notes."""
    return package(
        {
            "ppt/presentation.xml": (
                f'<p:presentation xmlns:p="p" {_R}><p:sldIdLst><p:sldId r:id="b"/>'
                '<p:sldId r:id="a"/></p:sldIdLst></p:presentation>'
            ),
            "ppt/_rels/presentation.xml.rels": relationships(
                a="slides/slide1.xml", b="slides/slide2.xml"
            ),
            "ppt/slides/slide1.xml": slide("Second"),
            "ppt/slides/slide2.xml": slide("First", "of two"),
            "ppt/slides/_rels/slide2.xml.rels": relationships(n="../notesSlides/notes1.xml"),
            "ppt/notesSlides/notes1.xml": slide("Say hello"),
        }
    )


def pdf(*pages: str, objects: int = 0) -> bytes:
    """Return a PDF with a line on each page, and as many other *objects*."""
    bodies = [b"<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    bodies += [f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode()]
    bodies += [b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode()
        bodies += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {5 + 2 * number} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>".encode(),
            b"<</Length %d>>\nstream\n%b\nendstream" % (len(stream), stream),
        ]
    bodies += [b"[]"] * objects
    file, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    file += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    file += b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(bodies) + 1, start)
    return bytes(file)
