"""Relatives of the samples in tests/real_cases/mail, and what is read of each."""

from base64 import b64encode

HEAD = "From: Ann <ann@sender.example>\r\nTo: me@here.example\r\nMIME-Version: 1.0\r\n"
PDF = (
    "Content-Type: application/pdf; name=x.pdf\r\nContent-Disposition: {}\r\n"
    "Content-Transfer-Encoding: base64\r\n{}\r\nJVBERi0="
)


def message(headers, body=b"x"):
    """Return a message of one part."""
    return f"{HEAD}{headers}\r\n\r\n".encode() + body


def text(label, content, kind="plain"):
    """Return a text in base64 under a label."""
    stated = f"; charset={label}" if label else ""
    headers = f"Content-Type: text/{kind}{stated}\r\nContent-Transfer-Encoding: base64"
    return message(headers, b64encode(content))


def parts(kind, *children):
    """Return a message of several parts, each with its headers."""
    return multipart(kind, *children, head=HEAD).encode()


def multipart(kind, *children, head=""):
    """Return a part that holds others."""
    boundary = f"b{len(''.join(children))}"
    inner = "".join(f"--{boundary}\r\n{child}\r\n" for child in children)
    return f"{head}Content-Type: multipart/{kind}; boundary={boundary}\r\n\r\n{inner}--{boundary}--"


def plain(content, more=""):
    return f"Content-Type: text/plain; charset=utf-8{more}\r\n\r\n{content}"


def html(content, more=""):
    return f"Content-Type: text/html; charset=utf-8{more}\r\n\r\n{content}"


SIBLINGS = {
    # Charsets.
    "gb18030": (text("gb18030", "朱镕基".encode("gb18030")), {"body": "朱镕基"}),
    "ks_c_5601": (text("ks_c_5601-1987", "똠방".encode("cp949")), {"body": "똠방"}),
    "windows-874": (text("windows-874", "ไทย".encode("cp874")), {"body": "ไทย"}),
    "big5": (text("big5", "繁體中文".encode("cp950")), {"body": "繁體中文"}),
    "euc-jp": (text("euc-jp", b"\xad\xa1\xc6\xfc"), {"body": "①日"}),
    "koi8-r": (text("koi8-r", "Привет".encode("koi8-r")), {"body": "Привет"}),
    "utf-8 under windows-1251": (text("windows-1251", "Привет".encode()), {"body": "Привет"}),
    "utf-8 without a label": (text("", "Dzień".encode()), {"body": "Dzień"}),
    "gb2312 name of a file": (
        parts("mixed", plain("x"), PDF.format("attachment; filename*=gb2312''%96%7C.pdf", "")),
        {"att.names": ["東.pdf"]},
    ),
    "meta": (
        text("", b'<meta charset="koi8-r">' + "Привет".encode("koi8-r"), "html"),
        {"body~": "Привет"},
    ),
    "no semicolon before the charset of a part": (
        parts(
            "mixed",
            "Content-Type: text/plain charset=koi8-r\r\nContent-Transfer-Encoding: quoted-printable"
            "\r\n\r\n=F0=D2=C9",
            plain("x"),
        ),
        {"body~": "При", "bodyPreview": "При"},
    ),
    "no semicolon, and quotes": (
        message("Content-Type: text/plain charset = 'windows-1250'", "Zażółć".encode("cp1250")),
        {"body": "Zażółć", "bodyPreview": "Zażółć"},
    ),
    # Header lines.
    "vertical tab": (
        message("Subject: a\x0bFrom: Bank <ceo@bank.example>"),
        {"from.email": "ann@sender.example"},
    ),
    "next line": (
        message("Subject: a\x85From: Bank <ceo@bank.example>"),
        {"from.email": "ann@sender.example", "subject~": "ceo@bank.example"},
    ),
    "line separator": (
        message("Subject: a\u2028From: Bank <ceo@bank.example>"),
        {"from.email": "ann@sender.example"},
    ),
    # Encoded words.
    "language in a name": (
        b"From: =?utf-8*de?B?SsO2cmc=?= <j@x.example>\r\n\r\nx",
        {"from.name": "Jörg", "from.email": "j@x.example"},
    ),
    # Addresses.
    "quoted address as a name": (
        b'From: "ceo@bank.example" <e@evil.example>\r\nTo: Doe, J <j@x.example>\r\n\r\nx',
        {"from.email": "e@evil.example", "to.emails": ["j@x.example"]},
    ),
    "encoded address as a name": (
        b"From: =?utf-8?q?ceo=40bank.example?= <e@evil.example>\r\n\r\nx",
        {"from.email": "e@evil.example", "from.name": "ceo@bank.example"},
    ),
    "group": (
        b"From: a@x.example\r\nTo: Team: b@x.example, C <c@x.example>;\r\n\r\nx",
        {"to.emails": ["b@x.example", "c@x.example"]},
    ),
    # Dates.
    "javascript": (
        message("Date: Thu Aug 06 2026 12:27:13 GMT+0200 (CEST)"),
        {"sentAt": "2026-08-06T10:27:13Z"},
    ),
    "twelve hours": (
        message("Date: Thu, 6 Aug 2026 01:27:13 PM +0200"),
        {"sentAt": "2026-08-06T11:27:13Z"},
    ),
    # Structure.
    "text, file, text": (
        parts("mixed", plain("One."), PDF.format("attachment", ""), plain("Two.")),
        {"body~": "Two.", "att": [["x.pdf", "application/pdf"]], "hasAttachments": True},
    ),
    "empty html": (
        parts("alternative", plain("The words."), html("")),
        {"body~": "The words.", "bodyType": "text"},
    ),
    "html of a name within related": (
        parts(
            "alternative",
            plain("a"),
            multipart("related", html("<p>b</p>", '; name="b.html"'), PDF.format("inline", "")),
        ),
        {"body~": "<p>b</p>", "att": [["x.pdf", "application/pdf"]], "hasAttachments": True},
    ),
    "inline text with a name": (
        parts(
            "mixed",
            plain("First."),
            plain("The price.", "; name=n.txt\r\nContent-Disposition: inline; filename=n.txt"),
        ),
        {"body~": "The price.", "att": [["n.txt", "text/plain"]]},
    ),
    "text with a name beside text": (
        parts("mixed", plain("First."), plain("Notes.", "; name=n.txt")),
        {"body!": "Notes.", "att": [["n.txt", "text/plain"]], "hasAttachments": True},
    ),
    "pdf with a content-id": (
        parts("mixed", plain("a"), PDF.format("inline", "Content-ID: <1@x>\r\n")),
        {"hasAttachments": True, "att": [["x.pdf", "application/pdf"]]},
    ),
    "calendar alone": (
        message("Content-Type: text/calendar; method=REQUEST", b"BEGIN:VCALENDAR"),
        {"body~": "BEGIN:VCALENDAR", "att.types~": "text/calendar"},
    ),
    "calendar of three alternatives": (
        parts(
            "alternative",
            plain("a"),
            html("<p>b</p>"),
            "Content-Type: text/calendar; method=REQUEST\r\n\r\nBEGIN:VCALENDAR",
        ),
        {"body~": "<p>b</p>", "att": [["noname", "text/calendar"]], "hasAttachments": True},
    ),
    "name of 255 characters": (
        parts("mixed", plain("a"), PDF.format(f'attachment; filename="{"n" * 251}.pdf"', "")),
        {"att.names": [f"{'n' * 251}.pdf"]},
    ),
    "mail within a mail": (
        parts(
            "mixed",
            plain("Outer."),
            "Content-Type: message/rfc822\r\n\r\nFrom: x@y.example\r\nSubject: inner\r\n\r\nInner.",
        ),
        {"body!": "Inner.", "hasAttachments": True, "att": [["noname", "message/rfc822"]]},
    ),
    "empty text after a file": (
        parts("mixed", plain("Words."), PDF.format("attachment", ""), plain("")),
        {"body": "Words.", "att": [["x.pdf", "application/pdf"]]},
    ),
    "signed": (
        parts(
            "signed",
            plain("The words."),
            "Content-Type: application/pkcs7-signature; name=smime.p7s\r\n"
            "Content-Disposition: attachment; filename=smime.p7s\r\n\r\nx",
        ),
        {"body~": "The words.", "att": [["smime.p7s", "application/pkcs7-signature"]]},
    ),
    # Previews.
    "style sheet of 9 KB and nothing else": (
        message(
            "Content-Type: text/html; charset=utf-8",
            b"<head><style>" + b".a { b: c }\r\n" * 900 + b"</style></head><p>Dear reader</p>",
        ),
        {"bodyPreview": "Dear reader"},
    ),
    "script": (
        message(
            "Content-Type: text/html; charset=utf-8",
            b"<script>var a</script><p>De<b>ar</b> reader</p>",
        ),
        {"bodyPreview": "Dear reader"},
    ),
}
