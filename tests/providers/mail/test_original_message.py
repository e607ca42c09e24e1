"""Raw messages that are forwarded, as other parsers of mail read them."""

import pytest
import real_cases

from providers.connectors.imap import body_structure
from providers.mail import original_message

ROWS = {
    "hdr-space-colon": ("Blank before", "ann@sender.example"),
    "hdr-exch": ("Value on the next line", "ann@sender.example"),
    "hdr-ff-from": ("Invoice\x0cFrom: Bank <ceo@bank.example>", "ann@sender.example"),
    "hdr-dup-subject": ("first one", "ann@sender.example"),
    "ad-at-name": ("case ad-at-name", "attacker@evil.example"),
    "ew-lang": ("Café menu", "k@sender.example"),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_headers_of_an_original_are_read(name):
    email, _ = original_message.parse(real_cases.raw(name), "IMAP")

    assert (email.subject, email.from_.email) == ROWS[name]
    assert email.body.strip() == "x"


def test_a_bare_carriage_return_begins_no_header():
    raw = b"Subject: a\rFrom: ceo@bank.example\r\nFrom: ann@sender.example\r\n\r\nx"
    email, _ = original_message.parse(raw, "IMAP")

    assert email.from_.email == "ann@sender.example"


def test_repeated_recipients_are_joined():
    raw = b"To: a@x.example\r\nTo: b@x.example\r\n\r\nx"
    email, _ = original_message.parse(raw, "IMAP")

    assert [person.email for person in email.to] == ["a@x.example", "b@x.example"]


@pytest.mark.parametrize(
    ("head", "content", "text"),
    [
        ("Content-Type: text/plain; charset=koi8-r (Russian)", b"\xd0\r\n", "п"),
        ("Content-Type: text/plain (words); charset=koi8-r", b"\xd0\r\n", "п"),
        ("Content-Type: text/html (page)", b"<p>a</p>", "<p>a</p>"),
        ("Content-Transfer-Encoding: base64 (of text)", b"YWJj\r\n", "abc"),
        ("Content-Type: text/plain;\r\n charset=koi8-r", b"\xd0\r\n", "п"),
    ],
)
def test_comments_in_the_headers_of_a_part(head, content, text):
    email, files = original_message.parse(head.encode() + b"\r\n\r\n" + content, "IMAP")

    assert (email.body.strip(), files) == (text, ())


def test_a_name_that_is_folded_is_one_line():
    disposition = 'Content-Disposition: attachment; filename="a long\r\n name.pdf"'
    raw = f"Content-Type: application/pdf\r\n{disposition}\r\n\r\nx"
    _, (file,) = original_message.parse(raw.encode(), "IMAP")

    assert file.name == "a long name.pdf"


INNER = (
    b"From: a@b.example\r\nX-Odd:  two blanks \r\nnot a header\r\n\r\n8 bits: \xc5\xbc\r\n--b\r\n"
)


@pytest.mark.parametrize(
    "media_type", ["message/rfc822", "message/delivery-status", "MESSAGE/Partial", "message/x"]
)
def test_the_bytes_of_an_attached_message_stay_as_they_are(media_type):
    head = "Content-Type: multipart/mixed; boundary=bb\r\n\r\n--bb\r\n"
    part = f"Content-Type: {media_type}\r\n\r\n".encode() + INNER
    _, (file,) = original_message.parse(head.encode() + part + b"\r\n--bb--\r\n", "IMAP")

    assert (file.media_type, file.content) == (media_type.lower(), INNER)


def test_a_part_of_a_digest_is_a_message():
    raw = b"Content-Type: multipart/digest; boundary=bb\r\n\r\n--bb\r\n\r\n" + INNER
    _, (file,) = original_message.parse(raw + b"\r\n--bb--\r\n", "IMAP")

    assert (file.name, file.media_type, file.content) == ("message.eml", "message/rfc822", INNER)


@pytest.mark.parametrize(
    ("head", "subject", "body"),
    [
        ("From x@y.example Mon\r\nSubject: a\r\n\r\nb", "a", "b"),
        (">From x@y.example Mon\r\nSubject: a\r\n\r\nb", "a", "b"),
        ("no field\r\n of two lines\r\nSubject: a\r\n\r\nb", "a", "b"),
        ("Bad name: x\r\nSubject: a\r\n c\r\n\r\nb", "a c", "b"),
        (" a fold first\r\nSubject: a\r\n\r\nb", "a", "b"),
        ("X: y\nno field\nSubject: a\n\nb", "a", "b"),
        # The empty line before the body is missing.
        ("Subject: a\r\nHello there\r\n\r\nb", "a", "Hello there\r\n\r\nb"),
        ("Subject: a\r\nHello there", "a", "Hello there"),
        # Without an empty line all are headers.
        ("no field\r\nSubject : a\r\nX: y", "a", ""),
    ],
)
def test_a_line_that_is_no_field_ends_no_headers(head, subject, body):
    """Headers end at the first empty line (RFC 5322, 2.1)."""
    email, files = original_message.parse(head.encode(), "IMAP")

    assert (email.subject, email.body, files) == (subject, body, ())


def test_parts_behind_the_end_of_a_multipart_are_read():
    """Outlook Express wrote multiparts with the boundary of their parents."""
    text = "Content-Type: text/plain\r\n\r\n{}\r\n"
    file = "Content-Type: image/gif; name={}.gif\r\nContent-Disposition: attachment\r\n\r\n{}\r\n"
    inner = "Content-Type: multipart/alternative; boundary=bb\r\n\r\n"
    opened = (inner, text.format("one"), text.format("two"))
    raw = "Content-Type: multipart/mixed; boundary=bb\r\n\r\n" + "".join(
        f"--bb\r\n{part}" for part in opened
    )
    raw += f"--bb--\r\n--bb\r\n{file.format('a', 'x')}--bb--\r\n--bb\r\n{file.format('b', 'y')}"
    email, files = original_message.parse(raw.encode(), "IMAP")

    assert email.body == "one\ntwo"
    assert [(file.name, file.content) for file in files] == [("a.gif", b"x"), ("b.gif", b"y")]


def test_the_root_of_related_parts_is_the_one_that_is_named():
    """RFC 2387, 3.2; a message of CPython's test_message.py."""
    raw = (
        b'Content-Type: multipart/related; boundary=b; type="text/html"; start="<body>"\r\n\r\n'
        b"--b\r\nContent-Type: text/html\r\nContent-ID: <include>\r\n\r\nuseless\r\n"
        b"--b\r\nContent-Type: text/html\r\nContent-ID: <body>\r\n\r\n<p>body</p>\r\n--b--"
    )
    email, (file,) = original_message.parse(raw, "IMAP")
    leaf = [b"TEXT", b"HTML", None, b"<include>", None, b"7BIT", b"9", b"1"]
    root = [b"TEXT", b"HTML", None, b"<body>", None, b"7BIT", b"9", b"1"]
    related = [leaf, root, b"RELATED", [b"START", b"<body>"]]
    arrangement = body_structure.parse(related).arrangement

    assert (email.body.strip(), file.content) == ("<p>body</p>", b"useless")
    assert [part.section for part in arrangement.texts] == ["2"]
    assert [part.section for part in arrangement.files] == ["1"]
