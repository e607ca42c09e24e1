"""
Mail with unusual bodies: encodings, nesting, attachments.

Each function builds one mail; `BODY_CASES` lists them, newest first. Their names seed ids and
times: renaming one changes the world.
"""

from sandbox.world.mail import attachment_files, mime_writer
from sandbox.world.mail.edge_case_headers import EdgeCase, EdgeCaseBuilder
from sandbox.world.mail.mime_writer import Part

LONG = 320 * 1024  # characters of the longest body


def _flowed(case: EdgeCase) -> bytes:
    lines = (
        "A paragraph that flows \nover the line ends, as it \nshould.\n> quoted, and \n> flowing"
    )
    body = mime_writer.text(lines, transfer="7bit", params="; format=flowed; delsp=no")
    return mime_writer.mail(case.headers("james@whitcombe.example", "Flowing"), body)


def _empty_body(case: EdgeCase) -> bytes:
    return mime_writer.bare(
        case.headers("oskar@harbourlight.example", "Key is under the bucket"), b""
    )


def _long_body(case: EdgeCase) -> bytes:
    lines = [f"{n:05} log entry: wind 7 m/s, door closed, pump off" for n in range(LONG // 50)]
    body = mime_writer.text("\n".join(lines), transfer="7bit", charset="us-ascii")
    return mime_writer.mail(case.headers("logger@shed-watch.example", "Log of the year"), body)


def _html_only(case: EdgeCase) -> bytes:
    markup = (
        "<!DOCTYPE html><html><head><title>Offer</title><style>p{color:navy}</style></head><body>"
        "<p>Ropes &ndash; 14&nbsp;mm &amp; 16&nbsp;mm, &euro;2.40&#47;m.</p>"
        "<script>document.title = 'not for mail'</script><p>Caf&eacute; nearby.</p></body></html>"
    )
    body = mime_writer.text(markup, subtype="html", transfer="quoted-printable")
    return mime_writer.mail(case.headers("shop@rope-walk.example", "Rope of the week"), body)


def _nested_mail(case: EdgeCase) -> bytes:
    inner = mime_writer.mail(
        case.headers(
            "m.hoffmann@elbmuseum.example", mime_writer.words("Maße der Luke, größer als gedacht")
        ),
        mime_writer.multipart(
            "mixed",
            [
                mime_writer.text("0,92 × 1,10 m, mit Süll.", charset="iso-8859-1"),
                mime_writer.file(
                    "luke.png", "image/png", attachment_files.png(40, 30, (90, 90, 120))
                ),
            ],
            boundary="=_inner_hatch",
        ),
    )
    parts = [
        mime_writer.text("For your files, see the attached mail. Jonas"),
        mime_writer.nested(inner),
        mime_writer.nested(inner, name="again.eml"),
    ]
    outer = mime_writer.multipart("mixed", parts, boundary="=_outer_hatch")
    return mime_writer.mail(case.headers("jonas@harbourlight.example", "Fwd: hatch"), outer)


def _names_of_files(case: EdgeCase) -> bytes:
    """Build a mail with one attachment per encoding of the file name."""
    data = b"one line\r\n"
    named = (
        ("Zeichnung für Über­sicht.txt", "rfc2231"),
        ("a very long name of a drawing, größer als nötig, revision C.txt", "continued"),
        ("Список.txt", "rfc2047"),
        ("räksmörgås.txt", "raw8"),
        ("only in the type.txt", "type-only"),
        ("", "none"),
    )
    parts = [mime_writer.text("Six files, six ways of naming them.")]
    parts += [mime_writer.file(name, "text/plain", data, naming=way) for name, way in named]
    body = mime_writer.multipart("mixed", parts, boundary="=_six_names")
    return mime_writer.mail(case.headers("lukas@harbourlight-studio.example", "Six names"), body)


def _empty_file(case: EdgeCase) -> bytes:
    parts = [
        mime_writer.text("The file is empty, the printer is not."),
        mime_writer.file("empty.csv", "text/csv", b""),
    ]
    body = mime_writer.multipart("mixed", parts, boundary="=_nothing")
    return mime_writer.mail(case.headers("plotter@harbourlight.example", "Report"), body)


def _only_a_file(case: EdgeCase) -> bytes:
    part = mime_writer.file(
        "scan0001.pdf", "application/pdf", attachment_files.pdf(["Scan", "page 1"])
    )
    return mime_writer.mail(case.headers("scanner@harbourlight.example", "Scan"), part)


def _text_between(case: EdgeCase) -> bytes:
    """Text, picture, text: the picture has no name and is meant to be seen in between."""
    parts = [
        mime_writer.text("This is how it looked before:"),
        mime_writer.file("", "image/png", attachment_files.png(60, 40, (200, 120, 60)),
                         naming="none", disposition="inline"),
        mime_writer.text("and I would rather not show how it looks now."),
    ]  # fmt: skip
    body = mime_writer.multipart(
        "mixed", parts, boundary="=_between", preamble="Not for your eyes."
    )
    return mime_writer.mail(case.headers("oskar@harbourlight.example", "The green paint"), body)


def _deep(case: EdgeCase) -> bytes:
    """Seven containers in one another, the text in the innermost."""
    part = mime_writer.text("Found me.")
    for level in range(7):
        beside = mime_writer.file(f"level{level}.txt", "text/plain", b"%d\r\n" % level)
        part = mime_writer.multipart("mixed", [part, beside], boundary=f"=_level_{level}")
    return mime_writer.mail(case.headers("matrjoschka@dolls.example", "Seven boxes"), part)


def _bounced(case: EdgeCase) -> bytes:
    status = (
        b"Reporting-MTA: dns; mx.oldtown-harbour.example\r\n\r\n"
        b"Final-Recipient: rfc822; karin.wesel@oldtown-harbour.example\r\n"
        b"Action: failed\r\nStatus: 5.1.1\r\n"
    )
    original = mime_writer.mail(
        case.headers(case.address, "Draft of the report"), mime_writer.text("Hi Karin")
    )
    parts = [
        mime_writer.text("Your mail could not be delivered: no such user.", transfer="7bit"),
        Part((("Content-Type", "message/delivery-status"),), status),
        mime_writer.nested(original),
    ]
    params = "; report-type=delivery-status"
    body = mime_writer.multipart("report", parts, boundary="=_report", params=params)
    headers = case.headers("Mail Delivery <MAILER-DAEMON@mx.example>", "Undelivered mail")
    return mime_writer.mail([("Return-Path", "<>"), *headers], body)


def _signed(case: EdgeCase) -> bytes:
    seal = (
        b"-----BEGIN PGP SIGNATURE-----\r\n\r\niQEzBAEBCAAdFiEE\r\n-----END PGP SIGNATURE-----\r\n"
    )
    parts = [
        mime_writer.text("The stability booklet is final. Please do not change a comma."),
        mime_writer.file("signature.asc", "application/pgp-signature", seal, transfer="7bit"),
    ]
    params = '; micalg=pgp-sha256; protocol="application/pgp-signature"'
    body = mime_writer.multipart("signed", parts, boundary="=_signed", params=params)
    return mime_writer.mail(case.headers("priya@harbourlight.example", "Stability booklet"), body)


def _cut_short(case: EdgeCase) -> bytes:
    """A connection broke: the last boundary never came."""
    parts = [
        mime_writer.text("The drawing follows."),
        mime_writer.file("drawing.png", "image/png", attachment_files.png(80, 60, (30, 60, 90))),
    ]
    whole = mime_writer.mail(
        case.headers("daniel@harbourlight-studio.example", "Drawing (cut short)"),
        mime_writer.multipart("mixed", parts, boundary="=_cut"),
    )
    return whole[: whole.rindex(b"--=_cut--") - 40]


def _boundary_missing(case: EdgeCase) -> bytes:
    part = Part((("Content-Type", "multipart/mixed"),), b"A container that names no boundary.\r\n")
    return mime_writer.mail(case.headers("robot@old-gateway.example", "Container"), part)


def _old_encodings(case: EdgeCase) -> bytes:
    uu = b"begin 644 note.txt\r\n#0V%T\r\n`\r\nend\r\n"
    part = Part((("Content-Type", "text/plain"), ("Content-Transfer-Encoding", "x-uuencode")), uu)
    return mime_writer.mail(case.headers("veteran@bulletin-board.example", "As in 1989"), part)


def _winmail(case: EdgeCase) -> bytes:
    data = b"\x78\x9f\x3e\x22\x01\x00\x01\x06\x90\x08\x00\x04\x00\x00\x00\x00\x00\x01\x00\x01"
    parts = [
        mime_writer.text("See attached.", transfer="7bit"),
        mime_writer.file("winmail.dat", "application/ms-tnef", data),
    ]
    body = mime_writer.multipart("mixed", parts, boundary="=_tnef")
    return mime_writer.mail(case.headers("birgitta@nystrom-fastigheter.example", "Nycklar"), body)


def _latin_file(case: EdgeCase) -> bytes:
    data = "Länge;Höhe\r\n9,30 m;3,10 m\r\n".encode("windows-1252")
    parts = [
        mime_writer.text("Maße anbei.", charset="iso-8859-1"),
        mime_writer.file("Maße.csv", "text/csv; charset=windows-1252", data, naming="rfc2231"),
        mime_writer.file("same name.txt", "text/plain", b"first\r\n"),
        mime_writer.file("same name.txt", "text/plain", b"second\r\n"),
    ]
    body = mime_writer.multipart("mixed", parts, boundary="=_latin")
    return mime_writer.mail(case.headers("j.maass@maass-segeln.example", "Maße des Bootes"), body)


def _picture_in_text(case: EdgeCase) -> bytes:
    """An inline picture by Content-ID and one that the text never shows."""
    shown = '<p>Look: <img src="cid:sunset@pier"></p><p>Nice, isn\'t it?</p>'
    picture, other = (
        attachment_files.png(64, 48, (230, 120, 70)),
        attachment_files.png(32, 32, (90, 160, 90)),
    )
    related = mime_writer.multipart(
        "related",
        [
            mime_writer.text(shown, subtype="html"),
            mime_writer.file("sunset.png", "image/png", picture, disposition="inline",
                         cid="sunset@pier"),
            mime_writer.file("unused.png", "image/png", other, cid="never@shown"),
        ],
        boundary="=_sunset",
    )  # fmt: skip
    both = [mime_writer.text("Look: [sunset]\n\nNice, isn't it?"), related]
    body = mime_writer.multipart("alternative", both, boundary="=_sunset_alt")
    return mime_writer.mail(
        case.headers("Elin Lindqvist <elin.lindqvist@postlada.example>", "Sunset"), body
    )


BODY_CASES: tuple[EdgeCaseBuilder, ...] = (
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
