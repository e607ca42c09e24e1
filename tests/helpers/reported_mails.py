"""
Mails of the kinds in tests/real_cases/mail in further forms, and what is read of each.

The comments name the documents and the public reports that the forms are from.
"""

from mail_siblings import HEAD, PDF, message, multipart, parts, plain, text

ANN = "From: ann@s.example\r\nTo: me@here.example\r\n"


def header(line, content):
    """Return a mail with one header of interest; the others are of no interest."""
    others = ANN.replace("From: ann@s.example\r\n", "") if line == "From" else ANN
    others = others.replace("To: me@here.example\r\n", "") if line == "To" else others
    return others.encode() + f"{line}: ".encode() + content.encode() + b"\r\n\r\nx"


def file(disposition, kind="application/pdf"):
    """Return a mail with a file of this Content-Disposition."""
    part = PDF.replace("application/pdf; name=x.pdf", kind).format(disposition, "")
    return parts("mixed", plain("x"), part)


def sender(content, email, name=None):
    wanted = {"from.email": email} | ({} if name is None else {"from.name": name})
    return header("From", content), wanted


def recipients(content, *emails):
    return header("To", content), {"to.emails": list(emails)}


def subject(content, shown):
    return header("Subject", content), {"subject": shown}


def date(content, moment):
    return header("Date", content), {"sentAt": moment}


def named(disposition, name, kind="application/pdf"):
    return file(disposition, kind), {"att.names": [name]}


def body(raw, shown):
    return raw, {"body": shown}


SUMMER = "2026-08-06T10:27:13Z"
REPORTED = {
    # RFC 5322, A.5 and A.6: comments and blanks within addresses.
    "comments": sender(
        r"Pete(A nice \) chap) <pete(his account)@silly.test(his host)>", "pete@silly.test", "Pete"
    ),
    "comments in a group": recipients(
        "A Group(Some people):Chris Jones <c@(Chris's host.)public.example>, joe@example.org,\r\n"
        " John <jdoe@one.test> (my dear friend); (the end of the group)",
        *("c@public.example", "joe@example.org", "jdoe@one.test"),
    ),
    "obsolete": recipients(
        "Mary Smith <@node.test:mary@example.net>, , jdoe@test  . example",
        *("mary@example.net", "jdoe@test.example"),
    ),
    "blanks at the sign": sender("Ann <ann @ x.example>", "ann@x.example", "Ann"),
    "blanks at dots": sender("J. R. Smith <j . r@x . example>", "j.r@x.example", "J. R. Smith"),
    "comment alone": sender("pete(his account)@silly.test (Pete)", "pete@silly.test", "Pete"),
    "local part in quotes": sender('"ann (x) smith"@x.example', '"ann (x) smith"@x.example'),
    "number": sender("Ann <ann@[192.0.2.1]>", "ann@[192.0.2.1]", "Ann"),
    "hidden recipients": recipients("undisclosed-recipients:;"),
    "empty entries": recipients("a@x.example,,b@x.example,", "a@x.example", "b@x.example"),
    # staktrace/mailparse#79, SpamScope/mail-parser#105, #132 and #146, thunderbird-android#6084
    "second name encoded": recipients(
        "foo <foo@x.example>,=?UTF-8?B?Zm9v8J+Qm2Jhcg==?= <bar@x.example>",
        *("foo@x.example", "bar@x.example"),
    ),
    "comma in a word": sender(
        "=?iso-8859-1?Q?Last=DFlName=2C_First?= <c@x.example>", "c@x.example", "LastßlName, First"
    ),
    "quotes in a word": sender(
        "=?UTF-8?Q?John_=22Johnny=22_Doe?= <j@x.example>", "j@x.example", 'John "Johnny" Doe'
    ),
    "mailbox in the name's word": sender(
        "=?utf-8?Q?=22Ann=22_=3Cceo=40bank.example=3E?= <attacker@evil.example>",
        *("attacker@evil.example", '"Ann" <ceo@bank.example>'),
    ),
    "sign in a word": sender(
        "=?utf-8?b?VEQgLyBAdGQ=?= <feed@x.example>", "feed@x.example", "TD / @td"
    ),
    "address, then a comment": sender(
        '"ceo@bank.example" (x) <attacker@evil.example>', "attacker@evil.example"
    ),
    "via a list": sender(
        "ceo@bank.example via List <list@x.example>", "list@x.example", "ceo@bank.example via List"
    ),
    "two brackets": sender("<<ann@x.example>>", "ann@x.example"),
    "no closing bracket": sender("Ann <ann@x.example", "ann@x.example", "Ann"),
    "open quotation": sender('"Ann Smith <ann@x.example>', "ann@x.example"),
    "square brackets": sender("Ann [Sales] <ann@x.example>", "ann@x.example", "Ann [Sales]"),
    "quotes within a name": sender(
        'J. "Bob" Dobbs <bob@x.example>', "bob@x.example", "J. Bob Dobbs"
    ),
    # Words: jhermsmeier/node-envelope#18, staktrace/mailparse, RFC 2047, 6.2
    "lower-case digits": subject("=?UTF-8?Q?a=c5=82o=c5=9b-?=", "ałoś-"),
    "blank in a word": subject("=?utf-8?Q?Hello World?=", "Hello World"),
    "question mark in a word": subject("=?utf-8?Q?a?b?=", "a?b"),
    "words without a blank": subject("=?utf-8?B?SGVsbG8=?==?utf-8?B?V29ybGQ=?=", "HelloWorld"),
    "text behind a word": subject("=?utf-8?Q?Hello?=World", "HelloWorld"),
    "no padding": subject("=?utf-8?b?Y2Fmw6k?= =?utf-8?b?IG5vaXI=?=", "café noir"),
    "cut base64": subject("=?utf-8?B?8J+Y?= =?utf-8?B?gCBoaQ==?=", "😀 hi"),
    "cut quoted": subject("=?UTF-8?Q?=F0=9F=98?= =?UTF-8?Q?=80_hi?=", "😀 hi"),
    "two charsets": subject("=?UTF-8?B?Zm9v?= =?iso-8859-1?Q?_b=E4r?=", "foo bär"),
    "unknown-8bit": subject(
        "=?unknown-8bit?q?coll=C3=A8gue?= =?unknown-8bit?q?_c=C3=A9l=C3=A8bre?=", "collègue célèbre"
    ),
    "utf8": subject("=?utf8?Q?caf=C3=A9?=", "café"),
    "x-sjis": subject("=?x-sjis?B?+/yLtA==?=", "髙橋"),
    "ascii that is UTF-8": subject("=?us-ascii?Q?caf=C3=A9?=", "café"),
    "raw UTF-8": subject("Zażółć", "Zażółć"),
    # Dates: jstedfast/MimeKit#179, ddeboer/imap#89, thunderbird-android#2204, and forms of 4.3
    "offset and comment": date("Thu, 6 Aug 2026 12:27:13 +0200 (GMT+02:00)", SUMMER),
    "no day of the week": date(", 6 Aug 2026 12:27:13 +0200 (CEST)", SUMMER),
    "UTC+2": date("Thu, 06 Aug 2026 12:27:13 UTC+2", SUMMER),
    "offset and name": date("Thu, 6 Aug 2026 12:27:13 +0200 CEST", SUMMER),
    "date of Unix": date("Thu Aug  6 12:27:13 CEST 2026", SUMMER),
    "dots": date("Thu, 6 Aug 2026 12.27.13 +0200", SUMMER),
    "fraction": date("Thu, 6 Aug 2026 12:27:13.123 +0200", SUMMER),
    "hyphens": date("6-Aug-2026 12:27:13 +0200", SUMMER),
    "RFC 850": date("Thursday, 06-Aug-26 10:27:13 GMT", SUMMER),
    "three digits": date("Thu, 6 Aug 126 10:27:13 +0000", SUMMER),
    "basic form": date("20260806T102713Z", SUMMER),
    "comments within": date("Thu (weekday), 6(day) Aug 2026 12:27:13 +0200", SUMMER),
    "folded": date("Thu, 6 Aug 2026\r\n 12:27:13 +0200", SUMMER),
    "month first": date("Aug 6, 2026 12:27:13 PM +0200", SUMMER),
    "short offset": date("Thu, 6 Aug 2026 12:27:13 +02", SUMMER),
    "midnight AM": date("Thu, 6 Aug 2026 12:27:13 AM +0200", "2026-08-05T22:27:13Z"),
    # Names of files: jakartaee/mail-api#74 and #586, mikel/mail#467 and #1213, chatmail/core#1510
    "word without quotes": named("attachment; filename==?utf-8?B?dGVzdC5wZGY=?=", "test.pdf"),
    "no charset in pieces": named(
        "attachment;\r\n filename*0*=\"''attached%2E\";\r\n filename*1*=\"%62\";\r\n filename*2=at",
        "attached.bat",
    ),
    "words on two lines": named(
        'attachment;\r\n filename="=?iso-8859-1?Q?Preparaci=F3n_-_?=\r\n'
        ' =?iso-8859-1?Q?BC.xlsx?="; size=69949',
        "Preparación - BC.xlsx",
    ),
    "raw name": named('attachment; filename="Что нового.rtf"', "Что нового.rtf"),
    "capitals": named("ATTACHMENT; FILENAME=X.PDF", "X.PDF"),
    "semicolon in a name": named('attachment; filename="a;b.pdf"', "a;b.pdf"),
    "quotation mark in a name": named('attachment; filename="quote\\"d.pdf"', 'quote"d.pdf'),
    "language of a name": named("attachment; filename*=utf-8'en'%e2%82%ac.pdf", "€.pdf"),
    "latin name": named("attachment; filename*=iso-8859-1''caf%E9.pdf", "café.pdf"),
    "pieces in any order": named('attachment; filename*1="b.pdf"; filename*0="a"', "ab.pdf"),
    "name of the type": named(
        "attachment", "Salø.pdf", 'application/pdf; name="=?iso-8859-1?Q?Sal=F8.pdf?="'
    ),
    "no disposition": named('; filename="x.pdf"', "x.pdf"),
    # Bodies: postalsys/postal-mime#75, RFC 2045, 6.7; RFC 2387, 3.2; RFC 2046, 5.1.5
    "sign that is no code": body(
        message(
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Transfer-Encoding: quoted-printable",
            b"abc,a=b,b caf=C3=A9",
        ),
        "abc,a=b,b café",
    ),
    "capital encoding and a blank": body(
        message(
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Transfer-Encoding: QUOTED-PRINTABLE ",
            b"caf=C3=A9=\r\n x",
        ),
        "café x",
    ),
    "unknown encoding": body(
        message(
            "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8-bit",
            "café".encode(),
        ),
        "café",
    ),
    "byte order mark": body(text("utf-8", b"\xef\xbb\xbfHello"), "Hello"),
    "charset with more": body(text('"UTF-8; format=flowed"', "café".encode()), "café"),
    "utf-16le": body(text("utf-16le", "Zażółć".encode("utf-16-le")), "Zażółć"),
    "iso-8859-15": body(text("iso-8859-15", "12 €".encode("iso-8859-15")), "12 €"),
    "cp-850": body(text("cp-850", "é".encode("cp850")), "é"),
    "iso-2022-kr": body(text("iso-2022-kr", "한국".encode("iso2022_kr")), "한국"),
    "hz": body(text("hz-gb-2312", "中文".encode("hz")), "中文"),
    "big5-hkscs": body(text("big5-hkscs", "香港㗎".encode("big5hkscs")), "香港㗎"),
    "utf-7": body(text("unicode-1-1-utf-7", b"caf+AOk-"), "café"),
    "root that is not first": (
        parts(
            'related; start="<root>"; type="text/html"',
            "Content-Type: image/png; name=i.png\r\nContent-ID: <1>\r\n\r\nx",
            "Content-Type: text/html\r\nContent-ID: <root>\r\n\r\n<p>root</p>",
        ),
        {"body~": "<p>root</p>", "bodyType": "html"},
    ),
    "digest": (
        parts("digest", "\r\nFrom: x@y.example\r\nSubject: inner\r\n\r\nInner."),
        {"att.types~": "message/rfc822"},
    ),
    "encrypted": (
        parts(
            'encrypted; protocol="application/pgp-encrypted"',
            "Content-Type: application/pgp-encrypted\r\n\r\nVersion: 1",
            "Content-Type: application/octet-stream\r\n"
            "Content-Disposition: inline; filename=encrypted.asc\r\n\r\nx",
        ),
        {"att.names": [None, "encrypted.asc"], "hasAttachments": True},
    ),
    "amp": (
        parts(
            "alternative",
            plain("a"),
            "Content-Type: text/x-amp-html\r\n\r\n<html amp4email>",
            "Content-Type: text/html\r\n\r\n<p>b</p>",
        ),
        {"body~": "<p>b</p>", "att": [], "hasAttachments": False},
    ),
    "mail with a file in a mail": (
        parts(
            "mixed",
            plain("outer"),
            'Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename="f.eml"\r\n'
            "\r\nSubject: inner\r\n" + multipart("mixed", PDF.format("attachment", "")),
        ),
        {"att": [["f.eml", "message/rfc822"]], "body": "outer"},
    ),
    "preview of a table": (
        message(
            "Content-Type: text/html; charset=utf-8",
            b"<title>T</title><!-- c --><!--[if mso]><p>mso</p><![endif]-->"
            b"<td>One</td><td>two</td>three<br>fo<b>ur</b>&nbsp;&#x20AC;",
        ),
        {"bodyPreview": "One two three four €"},
    ),
    # Header lines: mscdex/node-imap#68
    "blanks before colons": (
        b"Subject : blank\r\nFrom\t: ann@s.example\r\n\r\nx",
        {"subject": "blank", "from.email": "ann@s.example"},
    ),
    "bare line feeds": (
        b"From: ann@s.example\nSubject: bare\n\nwords",
        {"subject": "bare", "body": "words"},
    ),
    "separators of files": (
        f"{HEAD}Subject: a\x1cFrom: C <ceo@bank.example>\x1dTo: b@bank.example\r\n\r\nx".encode(),
        {"from.email": "ann@sender.example", "to.emails": ["me@here.example"]},
    ),
}  # fmt: skip
