"""
The file of a `multipart/form-data` body, without its envelope.

A form is accepted when it is one file part and nothing else (docs/spec/collab.md#forms). The parser
is fed as the bytes arrive: memory holds a chunk and the headers of the part.
"""

import logging
from collections.abc import AsyncIterator

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from policy.refusals import Refusal
from policy.vocabulary import Code
from rest_compat.errors import WHOLE_BODY, problem

FORM = "multipart/form-data"
MAX_ENVELOPE = 8 * 1024  # bytes around the file; docs/spec/limits.md#sizes
MAX_HEADERS = 20  # lines, of the part; docs/spec/limits.md#sizes
MAX_BOUNDARY = 70  # characters; RFC 2046, 5.1.1

_BOUNDARY_CHARACTERS = frozenset(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? "
)
_PLAIN_ENCODINGS = frozenset({b"7bit", b"8bit", b"binary"})
_MALFORMED = (
    f"The form is malformed, or has more than {MAX_HEADERS} header lines or {MAX_ENVELOPE} bytes "
    "around its file."
)
_NOT_ONE_FILE = "The form must be one file part and nothing else."
# A refusal is logged with its request.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)


class FormFile:
    """
    The file of a form, read once.

    Attributes:
        name: The file name of the part; may be empty.
        mime_type: As the part declares; None when it does not.
    """

    def __init__(self, content_type: str, body: AsyncIterator[bytes]) -> None:
        """
        Prepare to parse *body*; *content_type* is the header of the request.

        Raises:
            Refusal: 400: there is no boundary, or an invalid one.
        """
        self.name = ""
        self.mime_type: str | None = None
        self._body = body
        self._headers: list[tuple[bytearray, bytearray]] = []
        self._has_part = self._has_headers = self._ended = False
        self._pieces: list[bytes] = []  # of the file, parsed and not yet passed on
        boundary = _read_boundary(content_type)
        self._delimiter = b"\r\n--" + boundary
        self._tail = b"\r\n"  # the last bytes before the next piece
        self._envelope_size = 0  # includes what the parser holds back of the file
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_begin": self._begin_header,
                "on_header_field": self._extend_name,
                "on_header_value": self._extend_value,
                "on_headers_finished": self._finish_headers,
                "on_part_data": self._extend_file,
                "on_end": self._end,
            },
            max_header_count=MAX_HEADERS,
            max_header_size=MAX_ENVELOPE,
        )

    async def read_headers(self) -> None:
        """
        Read up to the first bytes of the file; sets `name` and `mime_type`.

        Raises:
            Refusal: 400: no file part begins there; or as *body*.
        """
        while not self._has_headers:
            chunk = await anext(self._body, None)
            if chunk is None:
                raise _unterminated()
            self._parse(chunk)

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        Yield the bytes of the file.

        Raises:
            Refusal: 400: the envelope is malformed, incomplete or has another part; or as *body*.
        """
        while True:
            if self._pieces:
                yield self._take()
            chunk = await anext(self._body, None)
            if chunk is None:
                break
            self._parse(chunk)
        if not self._ended:
            raise _unterminated()

    def _take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data

    def _parse(self, chunk: bytes) -> None:
        is_first = self._envelope_size == 0
        if is_first and chunk[:1] != b"-":  # the parser skips some preambles, by their chunks
            raise invalid_form(_MALFORMED)
        self._envelope_size += len(chunk)
        try:
            self._parser.write(chunk)
        except FormParserError:
            raise invalid_form(_MALFORMED) from None
        in_file = self._has_headers and not self._ended
        if not in_file and self._envelope_size > MAX_ENVELOPE:
            raise invalid_form(_MALFORMED)

    # -- called by the parser

    def _begin_part(self) -> None:
        if self._has_part:
            raise invalid_form(_NOT_ONE_FILE)
        self._has_part = True

    def _begin_header(self) -> None:
        self._headers.append((bytearray(), bytearray()))

    def _extend_name(self, data: bytes, start: int, end: int) -> None:
        self._headers[-1][0].extend(data[start:end])

    def _extend_value(self, data: bytes, start: int, end: int) -> None:
        self._headers[-1][1].extend(data[start:end])

    def _finish_headers(self) -> None:
        headers = {bytes(name).lower(): bytes(value) for name, value in self._headers}
        if sum(len(name) + len(value) for name, value in headers.items()) > MAX_ENVELOPE:
            raise invalid_form(_MALFORMED)
        if len(headers) < len(self._headers):  # parsers disagree on which of two lines counts
            raise invalid_form(_MALFORMED)
        disposition, parameters = parse_options_header(headers.get(b"content-disposition"))
        media_type = headers.get(b"content-type", b"").strip().lower()
        is_envelope = media_type.startswith(b"multipart/")
        if disposition != b"form-data" or b"filename" not in parameters or is_envelope:
            raise invalid_form(_NOT_ONE_FILE)
        encoding = headers.get(b"content-transfer-encoding", b"binary").strip().lower()
        if encoding not in _PLAIN_ENCODINGS:
            raise invalid_form("The file part must not have a Content-Transfer-Encoding.")
        try:
            self.name = parameters[b"filename"].decode()
        except UnicodeDecodeError:
            raise invalid_form("The file name of the part is not UTF-8.") from None
        self.mime_type = media_type.decode("latin-1") or None
        self._has_headers = True

    def _extend_file(self, data: bytes, start: int, end: int) -> None:
        piece = data[start:end]
        line = self._tail + piece
        # RFC 2046, 5.1.1, forbids it; the parser takes it for data, at 200 times the usual cost.
        if self._delimiter in line:
            raise invalid_form(_MALFORMED)
        self._tail = line[-len(self._delimiter) :]
        self._pieces.append(piece)
        self._envelope_size -= len(piece)

    def _end(self) -> None:
        if not self._has_part:
            raise invalid_form(_NOT_ONE_FILE)
        self._ended = True


def _read_boundary(content_type: str) -> bytes:
    _, parameters = parse_options_header(content_type)
    boundary = parameters.get(b"boundary", b"")
    if (
        not 1 <= len(boundary) <= MAX_BOUNDARY
        or not _BOUNDARY_CHARACTERS.issuperset(boundary)
        or boundary.endswith(b" ")
    ):
        raise invalid_form(f"The Content-Type needs a boundary of 1 to {MAX_BOUNDARY} characters.")
    return boundary


def _unterminated() -> Refusal:
    return invalid_form("The form ends before its last boundary.")


def invalid_form(reason: str) -> Refusal:
    """Build the 400 for an envelope that is not accepted; *reason* is a sentence."""
    return problem(Code.VALIDATION_ERROR, reason, details=[(WHOLE_BODY, reason)])
