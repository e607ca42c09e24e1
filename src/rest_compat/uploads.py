"""
Upload bodies: raw bytes or the one file of a form, passed on as they arrive, never held as a whole.

Reading is bounded: 104,857,600 bytes, declared or counted (docs/spec/collab.md#upload).
"""

import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from graph.documents.operation import Variable
from policy.refusals import Refusal
from policy.vocabulary import Code
from rest_compat.body import ClientGone, receive_chunks
from rest_compat.errors import problem
from rest_compat.ledger import KEY_HEADER
from rest_compat.multipart import FORM, MAX_ENVELOPE, FormFile, invalid_form
from rest_compat.request import RestRequest

MAX_UPLOAD = 104_857_600  # bytes, inclusive; docs/spec/limits.md#sizes
FILE_NAME = "fileName"  # the parameter that the part of a form may fill


class StreamedBody:
    """
    The bytes of one upload, to be read once; the graph's upload handle.

    Attributes:
        size: As declared; None when it is known at the end only: in chunks, or within a form.
        mime_type: As the request or the part of the form declares.
        parameters: `fileName`, when the part of a form has one.
        read_error: Why the bytes stopped coming; None so far.
    """

    def __init__(
        self,
        source: AsyncIterator[bytes],
        *,
        size: int | None,
        mime_type: str | None,
        parameters: Mapping[str, str],
        has_digest: bool,
    ) -> None:
        self._source = source
        self.size = size
        self.mime_type = mime_type
        self.parameters = parameters
        self.read_error: Exception | None = None
        self._digest = hashlib.sha256() if has_digest else None
        self._ended = False

    @property
    def fingerprint(self) -> bytes:
        """The declared size and type: what is known before the bytes are read."""
        return f"{self.size} {self.mime_type}".encode()

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes; empty without a key, and until all of them were read."""
        return self._digest.digest() if self._digest is not None and self._ended else b""

    async def drain(self) -> None:
        async for _ in self.chunks():
            pass

    def value(self) -> Any:
        return self

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        Yield the bytes as they arrive.

        Raises:
            Refusal: 413, too many bytes; 408, none in time; 400, the form is not one file.
            ClientGone: The client hung up.
        """
        if self.read_error is not None:
            raise self.read_error
        received = 0
        try:
            async for chunk in self._source:
                received += len(chunk)
                if received > MAX_UPLOAD:
                    raise too_large()
                if self._digest is not None:
                    self._digest.update(chunk)
                yield chunk
        except (Refusal, ClientGone) as failure:
            self.read_error = failure
            raise
        self._ended = True


class UploadReader:
    """Receives uploads; of the file, no byte is parsed before the graph asks for it."""

    async def receive(self, request: RestRequest, variable: Variable) -> StreamedBody:
        """
        Check the declared size and type; see `rest_compat.readers.BodyReader`.

        Of a form, what precedes the file is read.

        Raises:
            Refusal: 413, it is too large; 400, it is an envelope but not of one file.
        """
        del variable
        content_types = request.header_values("content-type")
        kinds = [value.partition(";")[0].strip().lower() for value in content_types]
        is_envelope = any(kind.startswith("multipart/") for kind in kinds)
        if is_envelope and kinds != [FORM]:
            raise invalid_form(f"The body must be the file, or {FORM} with the file alone.")
        declared = request.header("content-length")
        size = int(declared[:20]) if declared is not None and declared.isdecimal() else None
        if size is not None and size > MAX_UPLOAD + (MAX_ENVELOPE if is_envelope else 0):
            raise too_large()
        source = receive_chunks(request.receive)
        mime_type = request.header("content-type")
        parameters: dict[str, str] = {}
        if is_envelope:
            file = FormFile(content_types[0], source)
            await file.read_headers()
            # How long the envelope is after the file is not known: clients end it in several ways.
            source, size, mime_type = file.chunks(), None, file.mime_type
            if file.name:
                parameters[FILE_NAME] = file.name
        return StreamedBody(
            source,
            size=size,
            mime_type=mime_type,
            parameters=parameters,
            # Only a call with a key can be retried, so only its bytes need a digest.
            has_digest=request.header(KEY_HEADER) is not None,
        )


def too_large() -> Refusal:
    """Describe an upload that is too large: 413."""
    return problem(Code.PAYLOAD_TOO_LARGE, f"A file may have at most {MAX_UPLOAD} bytes.")
