"""Encodings of parts: whole, cut, malformed; and the size of base64 by its ends."""

from base64 import b64encode, encodebytes

import pytest

from providers.mail import transfer_encodings

SIZES = [*range(1, 120), 741, 742, 743, 5000, 5001, 5002]


@pytest.mark.parametrize("end", [b"\r\n", b"", b"\r\n\r\n"], ids=["a line end", "none", "two"])
def test_the_size_of_base64_follows_from_its_ends(end):
    for size in SIZES:
        encoded = encodebytes(bytes(size)).strip().replace(b"\n", b"\r\n") + end
        computed = transfer_encodings.base64_size(encoded[:1000], encoded[-1000:], len(encoded))
        is_one_line = b"\r\n" not in encoded

        assert computed == (None if is_one_line else size), size


@pytest.mark.parametrize(
    "encoded",
    [
        b"YWJj\r\nYWJjYWJj\r\nYWJj\r\n",
        b"YWJ\r\nYWJ\r\n",
        b"YWJj" * 500,
        b"\r\nYWJj\r\n",
        b"YWJj\r\nYWJj\r\n====",
    ],
)
def test_lines_of_other_lengths_tell_no_size(encoded):
    assert transfer_encodings.base64_size(encoded[:1000], encoded[-1000:], len(encoded)) is None


@pytest.mark.parametrize(
    ("encoding", "content", "decoded"),
    [
        ("base64", b"YWJj\r\nZA==\r\n", b"abcd"),
        ("base64", b"YWJjZA", b"abcd"),
        ("base64", b"YW-Jj!Z", b"abc"),
        ("base64", b"XXX", b"]u"),
        ("base64", b"YQ==\r\nYmM=\r\nZGVm", b"abcdef"),
        ("base64", b"YQ=YmM=ZGVm", b"abcdef"),
        ("quoted-printable", b"a=3Db=\r\nc=ZZ", b"a=bc=ZZ"),
        # RFC 2045, 6.7, rule 3: blanks at the end of a line were added on the way.
        ("quoted-printable", b"a  \r\nb \t\nc=20\r\nd ", b"a\r\nb\nc \r\nd"),
        ("quoted-printable", b"a=  \r\nb", b"ab"),
        ("x-uuencode", b"begin 644 note.txt\r\n#0V%T\r\n`\r\nend\r\n", b"Cat"),
        ("uuencode", b"#0V%T\r\nno such line\r\n", b"Cat"),
        ("7bit", b"a=3D", b"a=3D"),
        ("x-none", b"a=3D", b"a=3D"),
    ],
)
def test_what_is_malformed_is_left_out(encoding, content, decoded):
    assert transfer_encodings.decode(content, encoding) == decoded


def test_of_a_beginning_whole_groups_are_decoded():
    encoded = b64encode(b"abcdef")
    for end in range(len(encoded) + 1):
        part = transfer_encodings.decode(encoded[:end], "base64", is_cut=True)
        assert part == b"abcdef"[: end // 4 * 3]


def test_base64_in_pieces_is_decoded_as_the_whole():
    encoded = b"YQ==\r\nYmM=\r\nZGVm\r\nZw"
    for size in range(1, len(encoded)):
        decoder = transfer_encodings.Base64Decoder()
        pieces = [encoded[at : at + size] for at in range(0, len(encoded), size)]
        decoded = [decoder.decode(piece, final=False) for piece in pieces]
        assert b"".join((*decoded, decoder.decode(b"", final=True))) == b"abcdefg"
