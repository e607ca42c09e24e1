"""
Mail with rare, unknown or wrongly declared charsets.

Each function builds one mail; `CHARSET_CASES` lists them, newest first. Their names seed ids and
times: renaming one changes the world.
"""

from sandbox.world.mail import mime_writer
from sandbox.world.mail.edge_case_headers import EdgeCase, EdgeCaseBuilder
from sandbox.world.mail.mime_writer import Part


def _in_utf16(case: EdgeCase) -> bytes:
    body = mime_writer.text(
        "Dear Nora, my computer writes two bytes for every letter. ½ × œuvre.",
        charset="utf-16",
        transfer="base64",
    )
    return mime_writer.mail(case.headers("two.bytes@old-press.example", "In UTF-16"), body)


def _in_big5(case: EdgeCase) -> bytes:
    sender = mime_writer.mailbox("王 小梅", "mei@boat-model.example", charset="big5")
    subject = mime_writer.words("模型船的照片", charset="big5")
    body = mime_writer.text("您好，照片已經寄出，請查收。", charset="big5", transfer="base64")
    return mime_writer.mail(case.headers(sender, subject), body)


def _in_euc_kr(case: EdgeCase) -> bytes:
    subject = mime_writer.words("돛 제작 문의", charset="euc-kr")
    body = mime_writer.text(
        "안녕하세요. 돛 가격을 알고 싶습니다.", charset="euc-kr", transfer="8bit"
    )
    return mime_writer.mail(case.headers("sail@busan-loft.example", subject), body)


def _in_shift_jis(case: EdgeCase) -> bytes:
    subject = mime_writer.words("木材の写真", charset="shift_jis")
    body = mime_writer.text(
        "写真をお送りします。ご確認ください。", charset="shift_jis", transfer="base64"
    )
    return mime_writer.mail(case.headers("photo@mokuzai.example", subject), body)


def _in_utf7(case: EdgeCase) -> bytes:
    body = mime_writer.text("Prix : 40 € l'unité", charset="utf-7", transfer="7bit")
    return mime_writer.mail(case.headers("archives@port-sec.example", "Prix des bouées"), body)


def _unknown_charset(case: EdgeCase) -> bytes:
    body = mime_writer.text(
        "Plain words under a strange flag.", declared="x-harbour-9", transfer="7bit"
    )
    return mime_writer.mail(case.headers("flags@signals.example", "Strange flag"), body)


def _wrong_charset(case: EdgeCase) -> bytes:
    """UTF-8 that says that it is ASCII."""
    body = mime_writer.text("Smörgåsbord på bryggan", declared="us-ascii", transfer="8bit")
    return mime_writer.mail(case.headers("kock@brygga.example", "Lunch"), body)


def _unnamed_charset(case: EdgeCase) -> bytes:
    body = mime_writer.text(
        "Gr\xfc\xdfe vom Kai", charset="iso-8859-1", declared="", transfer="8bit"
    )
    return mime_writer.mail(case.headers("kai@gruesse.example", "Ohne Angabe"), body)


def _broken_base64(case: EdgeCase) -> bytes:
    part = Part(
        (("Content-Type", "text/plain; charset=utf-8"), ("Content-Transfer-Encoding", "base64")),
        b"VGhpcyBsaW5lIGlzIGZpbmUuCg\r\n*** scanned by GateScan ***\r\n",
    )
    return mime_writer.mail(case.headers("scan@gate.example", "Scanned"), part)


CHARSET_CASES: tuple[EdgeCaseBuilder, ...] = (
    _in_utf16,
    _in_big5,
    _in_euc_kr,
    _in_shift_jis,
    _in_utf7,
    _unknown_charset,
    _wrong_charset,
    _unnamed_charset,
    _broken_base64,
)
