"""Hostile forms of what people's mail holds: linear time of the thread, bounded results."""

from functools import partial

import pytest
from cpu_growth import least_seconds

from providers.connectors.imap import body_structure, mapping
from providers.mail import addresses, charsets, dates, encoded_words, original_message

MEGABYTE = 1_000_000


def parts(count):
    """A raw message of so many texts."""
    part = b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n"
    return b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + part * count + b"--b--"


def nested(levels):
    """A raw message of so many containers within each other."""
    heads = (
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (level, level)
        for level in range(levels)
    )
    return b"".join(heads) + b"Content-Type: text/plain\r\n\r\nwords"


HEADERS = ["(", "<", '"', '\\"', "[a", "=?u?q?", "=?u?q?a?= ", "<a@b", ",<a@b", "a@", ";:", "(a) "]


@pytest.mark.parametrize("piece", HEADERS)
def test_a_header_of_a_megabyte_is_read_at_once(piece):
    header = piece * (MEGABYTE // len(piece))

    for read in (addresses.parse, encoded_words.decode, dates.parse, mapping.message_ids):
        assert least_seconds(read, header, enough=1) < 1


def test_a_header_that_is_repeated_is_read_at_once():
    block = b"To: a@b.example\r\n" * (MEGABYTE // 17)

    assert least_seconds(mapping.parse_headers, block, enough=1) < 1


@pytest.mark.parametrize("content", [b"\x1b$B-!", b"\x1b$B$3\x1b(B", b"\xad\xa1", b"\x8f\xa1"])
def test_a_text_of_many_escapes_is_decoded_at_once(content):
    text = content * (256 * 1024 // len(content))

    for label in ("iso-2022-jp", "euc-jp"):
        decode = partial(charsets.decode_or_utf8, charset=label)
        assert least_seconds(decode, text, enough=1) < 1
        assert least_seconds(decode, text * 10, enough=1) < 1


def test_ten_thousand_parts_are_twenty_texts_and_files():
    email, files = original_message.parse(parts(10_000), "IMAP")

    assert email.body == "x\n" * 19 + "x"
    assert len(files) == 10_000 - 20


def test_a_hundred_levels_are_read():
    email, files = original_message.parse(nested(99), "IMAP")

    assert (email.body, files) == ("words", ())


def test_the_parts_of_a_structure_are_bounded():
    leaf = [b"TEXT", b"PLAIN", None, None, None, b"7BIT", b"5", b"1", None, None]
    wide = body_structure.parse([*[leaf] * 10_000, b"MIXED"])
    deep = leaf
    for _ in range(300):
        deep = [deep, b"MIXED"]

    assert (len(wide.parts), len(wide.arrangement.texts), wide.is_whole) == (
        body_structure.MAX_PARTS,
        20,
        False,
    )
    assert list(body_structure.parse(deep).arrangement.texts) == []
