"""A REST call as the GraphQL document behind it, with the variables that the call fills."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from graph.documents.operation import Operation
from policy.vocabulary import Code
from rest_compat.binding import INPUT
from rest_compat.errors import problem
from rest_compat.uploads import StreamedBody

EXPLORER = "/explorer/open.html"  # the page that opens the document of its fragment
MAX_FILE = 40 * 1024  # bytes of a file in a document, which has at most 64 KiB
_MEDIA_TYPES = ("contentType", "mimeType")  # variables that the `Content-Type` of an upload fills

_json = msgspec.json.Encoder()


async def describe(
    document: str, operation: Operation, variables: Mapping[str, Any], *, explorer: str
) -> bytes:
    """
    Describe a call as JSON: `document`, `operationName`, `variables`, `explorer`.

    *variables* may hold an upload, whose bytes are read. *explorer* is the address of the page that
    opens documents.

    Raises:
        Refusal: 413, the file is too large for a document; as `StreamedBody.chunks`.
    """
    filled = dict(variables)
    upload = filled.get(INPUT)
    if isinstance(upload, StreamedBody):
        filled[INPUT] = base64.b64encode(await _read(upload)).decode()
        for variable in operation.variables:
            if variable.name in _MEDIA_TYPES and upload.mime_type:
                filled.setdefault(variable.name, upload.mime_type)
    encoded = _json.encode(filled)
    opened = urlencode({"operation": operation.name, "variables": encoded.decode()})
    return _json.encode(
        {
            "document": document,
            "operationName": operation.name,
            "variables": msgspec.Raw(encoded),
            "explorer": f"{explorer}#{opened}",
        }
    )


async def _read(upload: StreamedBody) -> bytes:
    content = bytearray()
    async for chunk in upload.chunks():
        content += chunk
        if len(content) > MAX_FILE:
            raise problem(
                Code.PAYLOAD_TOO_LARGE, f"A file in a document may have at most {MAX_FILE} bytes."
            )
    return bytes(content)
