"""
Mails with odd bodies: charsets, encodings, nesting, attachments, as real mailboxes hold them.

Each function makes one mail; `ODD_BODIES` lists them in the order in which they arrive.
"""

from providers.sandbox.world import files, letters
from providers.sandbox.world.letters import Part
from providers.sandbox.world.oddities import Odd, Oddity

LONG = 320 * 1024  # characters of the longest body


def _flowed(odd: Oddity) -> bytes:
    lines = (
        "A paragraph that flows \nover the line ends, as it \nshould.\n> quoted, and \n> flowing"
    )
    body = letters.text(lines, transfer="7bit", params="; format=flowed; delsp=no")
    return letters.mail(odd.usual("james@whitcombe.example", "Flowing"), body)


def _empty_body(odd: Oddity) -> bytes:
    return letters.bare(odd.usual("oskar@harbourlight.example", "Key is under the bucket"), b"")


def _long_body(odd: Oddity) -> bytes:
    lines = [f"{n:05} log entry: wind 7 m/s, door closed, pump off" for n in range(LONG // 50)]
    body = letters.text("\n".join(lines), transfer="7bit", charset="us-ascii")
    return letters.mail(odd.usual("logger@shed-watch.example", "Log of the year"), body)


def _html_only(odd: Oddity) -> bytes:
    markup = (
        "<!DOCTYPE html><html><head><title>Offer</title><style>p{color:navy}</style></head><body>"
        "<p>Ropes &ndash; 14&nbsp;mm &amp; 16&nbsp;mm, &euro;2.40&#47;m.</p>"
        "<script>document.title = 'not for mail'</script><p>Caf&eacute; nearby.</p></body></html>"
    )
    body = letters.text(markup, subtype="html", transfer="quoted-printable")
    return letters.mail(odd.usual("shop@rope-walk.example", "Rope of the week"), body)


def _nested_mail(odd: Oddity) -> bytes:
    inner = letters.mail(
        odd.usual(
            "m.hoffmann@elbmuseum.example", letters.words("Maße der Luke, größer als gedacht")
        ),
        letters.multipart(
            "mixed",
            [
                letters.text("0,92 × 1,10 m, mit Süll.", charset="iso-8859-1"),
                letters.file("luke.png", "image/png", files.png(40, 30, (90, 90, 120))),
            ],
            boundary="=_inner_hatch",
        ),
    )
    parts = [
        letters.text("For your files, see the attached mail. Jonas"),
        letters.nested(inner),
        letters.nested(inner, name="again.eml"),
    ]
    outer = letters.multipart("mixed", parts, boundary="=_outer_hatch")
    return letters.mail(odd.usual("jonas@harbourlight.example", "Fwd: hatch"), outer)


def _names_of_files(odd: Oddity) -> bytes:
    """One attachment for every way of writing a file name."""
    data = b"one line\r\n"
    named = (
        ("Zeichnung für Über­sicht.txt", "rfc2231"),
        ("a very long name of a drawing, größer als nötig, revision C.txt", "continued"),
        ("Список.txt", "rfc2047"),
        ("räksmörgås.txt", "raw8"),
        ("only in the type.txt", "type-only"),
        ("", "none"),
    )
    parts = [letters.text("Six files, six ways of naming them.")]
    parts += [letters.file(name, "text/plain", data, naming=way) for name, way in named]
    body = letters.multipart("mixed", parts, boundary="=_six_names")
    return letters.mail(odd.usual("lukas@harbourlight-studio.example", "Six names"), body)


def _empty_file(odd: Oddity) -> bytes:
    parts = [
        letters.text("The file is empty, the printer is not."),
        letters.file("empty.csv", "text/csv", b""),
    ]
    body = letters.multipart("mixed", parts, boundary="=_nothing")
    return letters.mail(odd.usual("plotter@harbourlight.example", "Report"), body)


def _only_a_file(odd: Oddity) -> bytes:
    part = letters.file("scan0001.pdf", "application/pdf", files.pdf(["Scan", "page 1"]))
    return letters.mail(odd.usual("scanner@harbourlight.example", "Scan"), part)


def _text_between(odd: Oddity) -> bytes:
    """Text, picture, text: the picture has no name and is meant to be seen in between."""
    parts = [
        letters.text("This is how it looked before:"),
        letters.file("", "image/png", files.png(60, 40, (200, 120, 60)), naming="none",
                     disposition="inline"),
        letters.text("and I would rather not show how it looks now."),
    ]  # fmt: skip
    body = letters.multipart("mixed", parts, boundary="=_between", preamble="Not for your eyes.")
    return letters.mail(odd.usual("oskar@harbourlight.example", "The green paint"), body)


def _deep(odd: Oddity) -> bytes:
    """Seven containers in one another, the text in the innermost."""
    part = letters.text("Found me.")
    for level in range(7):
        beside = letters.file(f"level{level}.txt", "text/plain", b"%d\r\n" % level)
        part = letters.multipart("mixed", [part, beside], boundary=f"=_level_{level}")
    return letters.mail(odd.usual("matrjoschka@dolls.example", "Seven boxes"), part)


def _bounced(odd: Oddity) -> bytes:
    status = (
        b"Reporting-MTA: dns; mx.oldtown-harbour.example\r\n\r\n"
        b"Final-Recipient: rfc822; karin.wesel@oldtown-harbour.example\r\n"
        b"Action: failed\r\nStatus: 5.1.1\r\n"
    )
    original = letters.mail(odd.usual(odd.account, "Draft of the report"), letters.text("Hi Karin"))
    parts = [
        letters.text("Your mail could not be delivered: no such user.", transfer="7bit"),
        Part((("Content-Type", "message/delivery-status"),), status),
        letters.nested(original),
    ]
    params = "; report-type=delivery-status"
    body = letters.multipart("report", parts, boundary="=_report", params=params)
    headers = odd.usual("Mail Delivery <MAILER-DAEMON@mx.example>", "Undelivered mail")
    return letters.mail([("Return-Path", "<>"), *headers], body)


def _signed(odd: Oddity) -> bytes:
    seal = (
        b"-----BEGIN PGP SIGNATURE-----\r\n\r\niQEzBAEBCAAdFiEE\r\n-----END PGP SIGNATURE-----\r\n"
    )
    parts = [
        letters.text("The stability booklet is final. Please do not change a comma."),
        letters.file("signature.asc", "application/pgp-signature", seal, transfer="7bit"),
    ]
    params = '; micalg=pgp-sha256; protocol="application/pgp-signature"'
    body = letters.multipart("signed", parts, boundary="=_signed", params=params)
    return letters.mail(odd.usual("priya@harbourlight.example", "Stability booklet"), body)


def _cut_short(odd: Oddity) -> bytes:
    """A connection broke: the last boundary never came."""
    parts = [
        letters.text("The drawing follows."),
        letters.file("drawing.png", "image/png", files.png(80, 60, (30, 60, 90))),
    ]
    whole = letters.mail(
        odd.usual("daniel@harbourlight-studio.example", "Drawing (cut short)"),
        letters.multipart("mixed", parts, boundary="=_cut"),
    )
    return whole[: whole.rindex(b"--=_cut--") - 40]


def _boundary_missing(odd: Oddity) -> bytes:
    part = Part((("Content-Type", "multipart/mixed"),), b"A container that names no boundary.\r\n")
    return letters.mail(odd.usual("robot@old-gateway.example", "Container"), part)


def _old_encodings(odd: Oddity) -> bytes:
    uu = b"begin 644 note.txt\r\n#0V%T\r\n`\r\nend\r\n"
    part = Part((("Content-Type", "text/plain"), ("Content-Transfer-Encoding", "x-uuencode")), uu)
    return letters.mail(odd.usual("veteran@bulletin-board.example", "As in 1989"), part)


def _winmail(odd: Oddity) -> bytes:
    data = b"\x78\x9f\x3e\x22\x01\x00\x01\x06\x90\x08\x00\x04\x00\x00\x00\x00\x00\x01\x00\x01"
    parts = [
        letters.text("See attached.", transfer="7bit"),
        letters.file("winmail.dat", "application/ms-tnef", data),
    ]
    body = letters.multipart("mixed", parts, boundary="=_tnef")
    return letters.mail(odd.usual("birgitta@nystrom-fastigheter.example", "Nycklar"), body)


def _latin_file(odd: Oddity) -> bytes:
    data = "Länge;Höhe\r\n9,30 m;3,10 m\r\n".encode("windows-1252")
    parts = [
        letters.text("Maße anbei.", charset="iso-8859-1"),
        letters.file("Maße.csv", "text/csv; charset=windows-1252", data, naming="rfc2231"),
        letters.file("same name.txt", "text/plain", b"first\r\n"),
        letters.file("same name.txt", "text/plain", b"second\r\n"),
    ]
    body = letters.multipart("mixed", parts, boundary="=_latin")
    return letters.mail(odd.usual("j.maass@maass-segeln.example", "Maße des Bootes"), body)


def _picture_in_text(odd: Oddity) -> bytes:
    """An inline picture by Content-ID and one that the text never shows."""
    shown = '<p>Look: <img src="cid:sunset@pier"></p><p>Nice, isn\'t it?</p>'
    picture, other = files.png(64, 48, (230, 120, 70)), files.png(32, 32, (90, 160, 90))
    related = letters.multipart(
        "related",
        [
            letters.text(shown, subtype="html"),
            letters.file("sunset.png", "image/png", picture, disposition="inline",
                         cid="sunset@pier"),
            letters.file("unused.png", "image/png", other, cid="never@shown"),
        ],
        boundary="=_sunset",
    )  # fmt: skip
    both = [letters.text("Look: [sunset]\n\nNice, isn't it?"), related]
    body = letters.multipart("alternative", both, boundary="=_sunset_alt")
    return letters.mail(
        odd.usual("Elin Lindqvist <elin.lindqvist@postlada.example>", "Sunset"), body
    )


ODD_BODIES: tuple[Odd, ...] = (
    _flowed,
    _empty_body,
    _long_body,
    _html_only,
    _nested_mail,
    _names_of_files,
    _empty_file,
    _only_a_file,
    _text_between,
    _deep,
    _bounced,
    _signed,
    _cut_short,
    _boundary_missing,
    _old_encodings,
    _winmail,
    _latin_file,
    _picture_in_text,
)
