"""
Decoding of encoded words (RFC 2047; with a language: RFC 2231, 5), each for itself.

The standard library's decoder takes quadratic time, knows no languages, and gives up on the whole
text when one word cannot be decoded.
"""

import codecs
import re
from collections.abc import Iterator

from providers.mail import charsets, transfer_encodings

# Charset, language, encoding, text. It stops where the next word begins, so that it takes linear
# time; a question mark in the text is an error of senders.
WORD = re.compile(
    r"=\?([^?*\s]{1,80})(?:\*[^?\s]{0,80})?\?([bBqQ])\?((?:[^?=]|=(?!\?[^=])|\?(?!=))*)\?="
)
_QUOTED = re.compile(rb"=([0-9A-Fa-f]{2})")
_BLANKS = " \t\r\n"
_MAX_LENGTH = 100_000  # characters of a text whose words are decoded


def decode(text: str) -> str:
    """
    Return a header with its encoded words decoded; a word of an unknown charset stays as it is.

    Blanks between words are not part of the text, and a character may begin in one word and end in
    the next one.
    """
    if "=?" not in text or len(text) > _MAX_LENGTH:
        return text
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    at = 0
    was_decoded = False
    for run in _runs(text):
        between, at = text[at : run[0].start()], run[-1].end()
        decoded = _decode(run)
        is_neighbour = was_decoded and decoded is not None and not between.strip(_BLANKS)
        yield "" if is_neighbour else between
        yield text[run[0].start() : at] if decoded is None else decoded
        was_decoded = decoded is not None
    yield text[at:]


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the words, together with neighbours of the same charset."""
    run: list[re.Match[str]] = []
    for match in WORD.finditer(text):
        if run and (
            match[1].lower() != run[0][1].lower()
            or text[run[-1].end() : match.start()].strip(_BLANKS)
        ):
            yield run
            run = []
        run.append(match)
    if run:
        yield run


def _decode(run: list[re.Match[str]]) -> str | None:
    """Return the text of neighbours; None: it cannot be decoded."""
    label = run[0][1]
    text = _joined(list(_contents(run, is_cut=True)), label)
    if text is not None and "\ufffd" in text:  # words without their padding, each whole
        alone = _joined(list(_contents(run, is_cut=False)), label)
        return alone if alone is not None and "\ufffd" not in alone else text
    return text


def _joined(contents: list[bytes], label: str) -> str | None:
    # Each word of a charset with states begins in the first state.
    parts = contents if charsets.is_stateful(label) else [b"".join(contents)]
    try:
        return "".join(_with_mark(part, label) for part in parts)
    except LookupError:  # `unknown-8bit` among them, of bytes that a program could not name
        content = b"".join(contents)
        return None if content.isascii() or not charsets.is_utf8(content) else content.decode()


def _contents(run: list[re.Match[str]], *, is_cut: bool) -> Iterator[bytes]:
    """Yield the bytes of words; *is_cut*: base64 without padding goes on in the next word."""
    rest = ""
    for index, match in enumerate(run):
        if match[2] in "qQ":
            content = match[3].replace("_", " ").encode("utf-8", "replace")
            yield _QUOTED.sub(lambda sign: bytes((int(sign[1], 16),)), content)
            continue
        signs = rest + "".join(match[3].split())
        goes_on = is_cut and index + 1 < len(run) and run[index + 1][2] in "bB"
        if goes_on and len(signs) % 4 and not signs.endswith("="):
            rest = signs
            continue
        rest = ""
        yield transfer_encodings.decode_base64(signs.encode("ascii", "ignore"))


def _with_mark(content: bytes, label: str) -> str:
    # The mark tells nothing where a label stands, and what is written must be read alike.
    mark = "\ufeff" if content.startswith(codecs.BOM_UTF8) else ""
    return mark + charsets.decode(content, label)
