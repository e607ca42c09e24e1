"""
200 files and mails in the forms that programs write: their words are in the readable text.

The forms are those of Word (a sentence in several runs, tables, notes), Excel (shared and rich
strings), PowerPoint, PDF writers, newsletters (tables in tables, entities, hidden preheaders),
mail programs, calendars and exports in older charsets.
"""

import html
import re
from random import Random

import documents
import pytest

from providers.readable_text import files
from providers.readable_text.quoted_history import readable_body

ALPHABETS = ("abcdefghijklmnoprstuvw", "äöüßéèçñ" + "abcdefgh", "абвгдежзиклмноп", "αβγδεζηθικλ")
WORD = re.compile(r"\w+")
LEAST = 0.95


class Writer:
    """Makes words, and remembers them as *expected*."""

    def __init__(self, seed, *, alphabets=ALPHABETS):
        self.chance, self.expected = Random(seed), []
        self.alphabet = self.chance.choice(alphabets)

    def words(self, count=8):
        words = ["".join(self.chance.choices(self.alphabet, k=9)) for _ in range(count)]
        self.expected += words
        return words

    def text(self, count=8):
        return " ".join(self.words(count))


def word(writer):
    def run(text, *, marks=""):
        return f'<w:r><w:rPr>{marks}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'

    def paragraph():
        # Word begins a new run where spelling or formats change, also within a word.
        whole = writer.text()
        at = writer.chance.randrange(1, len(whole))
        link = f'<w:hyperlink r:id="x">{run(writer.text(2))}</w:hyperlink>'
        parts = (
            run(whole[:at]),
            '<w:proofErr w:type="spellStart"/>',
            run(whole[at:], marks="<w:b/>"),
        )
        return f"<w:p><w:pPr><w:jc/></w:pPr>{''.join(parts)}{run(' ')}{link}</w:p>"

    cells = (f"<w:tc><w:tcPr/>{paragraph()}</w:tc>" for _ in range(3))
    table = f"<w:tbl><w:tblPr/><w:tr>{''.join(cells)}</w:tr></w:tbl>"
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = "".join(paragraph() for _ in range(20)) + table
    content = documents.word(
        f'<w:sdt xmlns:r="{space}"><w:sdtContent>{body}</w:sdtContent></w:sdt>'
    )
    return "docx", None, content


def excel(writer):
    texts = [writer.text(2) for _ in range(60)]
    rich = [
        f"<si><r><t>{text[:5]}</t></r><r><rPr/><t>{text[5:]}</t></r></si>" for text in texts[:9]
    ]
    plain = [f'<si><t xml:space="preserve">{text}</t></si>' for text in texts[9:]]
    rows = (
        f'<row r="{n}"><c r="B{n}" t="s"><v>{n}</v></c><c r="D{n}"><f>A1+1</f><v>{n * 1.5}</v></c>'
        f'<c r="E{n}" t="str"><f>UPPER(A1)</f><v>{writer.text(1)}</v></c></row>'
        for n in range(60)
    )
    return "xlsx", None, documents.excel("".join(rows), strings="".join((*rich, *plain)))


def powerpoint(writer):
    slides = {f"ppt/slides/slide{n}.xml": documents.slide(*writer.words(9)) for n in range(1, 9)}
    listed = "".join(f'<p:sldId r:id="r{n}"/>' for n in range(1, 9))
    relationships = documents.relationships(
        **{f"r{n}": f"slides/slide{n}.xml" for n in range(1, 9)}
    )
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="p" xmlns:r="{space}"><p:sldIdLst>{listed}</p:sldIdLst>'
            "</p:presentation>"
        ),
        "ppt/_rels/presentation.xml.rels": relationships,
    }
    return "pptx", None, documents.package({**parts, **slides})


def pdf(writer):
    return "pdf", None, documents.pdf(*(writer.text() for _ in range(12)))


def calendar(writer):
    lines = [f"{name}:{writer.text(30)}" for name in ("SUMMARY", "DESCRIPTION", "LOCATION")]
    folded = ("\r\n ".join(re.findall(".{1,60}", line)) for line in lines)
    return "folded", "text/calendar; charset=utf-8", "\r\n".join(folded).encode()


def export(writer):
    charset = {1: "cp1252", 2: "cp1251", 3: "iso-8859-7"}.get(ALPHABETS.index(writer.alphabet))
    rows = "\r\n".join(f"{writer.text(1)};{writer.text(3)}" for _ in range(200))
    return "text", f"text/csv; charset={charset or 'us-ascii'}", rows.encode(charset or "ascii")


def newsletter(writer):
    def cell(text):
        return f'<td style="font:14px Arial" valign="top"><p>{text}&nbsp;&mdash;</p></td>'

    def escaped(count=8):
        return html.escape(writer.text(count)).encode("ascii", "xmlcharrefreplace").decode()

    articles = (
        f"<tr>{cell(escaped())}<td><table><tr>{cell('<b>' + escaped(2) + '</b>')}</tr></table></td>"
        f'</tr><tr><td><a href="https://a.example/?x={n}&amp;y=1"><img alt="{escaped(2)}" '
        f'src="cid:{n}"></a><ul><li>{escaped(3)}<li>{escaped(3)}</ul></td></tr>'
        for n in range(15)
    )
    page = (
        "<!DOCTYPE html><html><head><title>x</title><style>.a{color:red}</style></head><body>"
        '<div style="display:none">&zwnj;&nbsp;</div><!--[if mso]><table><![endif]-->'
        f"<table>{''.join(articles)}</table></body></html>"
    )
    return "html", "text/html; charset=utf-8", page.encode()


def reply(writer):
    """A mail with a quotation; what is new and what is quoted are both expected."""
    new, old = (writer.text(60) for _ in range(2))
    quoted = f'<div class="gmail_quote">On Tue, Ana wrote:<blockquote>{old}</blockquote></div>'
    page = f"<div dir=ltr>{new}<br></div><br>{quoted}"
    return "body", None, page.encode()


KINDS = {
    maker.__name__: maker
    for maker in (word, excel, powerpoint, pdf, calendar, export, newsletter, reply)
}


async def text_of(kind, media_type, content):
    if kind == "body":
        return readable_body(content.decode(), is_html=True, quoted=True, subject=None)

    async def chunks():
        yield content

    return (await files.text_of_file(kind, media_type, chunks())).content


@pytest.mark.tries(2, 25)
@pytest.mark.parametrize("name", KINDS)
async def test_the_words_of_a_file_are_in_its_text(name, tries):
    expected = missing = 0
    for seed in range(tries):
        # The font of the small PDFs has Latin letters alone.
        writer = Writer(seed, alphabets=ALPHABETS[: 1 if name == "pdf" else None])
        words = set(WORD.findall(await text_of(*KINDS[name](writer))))
        expected += len(writer.expected)
        missing += sum(word not in words for word in writer.expected)
    print(f"{name}: {expected - missing} of {expected} words")  # noqa: T201
    assert expected >= 70 * tries
    assert missing <= (1 - LEAST) * expected
