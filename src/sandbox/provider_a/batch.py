"""
Multipart batches of Gmail and Google Calendar, on ``/batch`` and ``/batch/<api>/<version>``.

All parts run at once, each as a call of its own with its own call log entry, faults and status. See
docs/spec/upstream/gmail.md#batch-reads.
"""

import asyncio
import re
from dataclasses import replace
from email import message_from_bytes
from email.message import Message
from http import HTTPStatus
from urllib.parse import urlsplit
from uuid import uuid4

from sandbox.error_bodies import provider_a
from sandbox.http import Handler, Request, Response, parse_target
from sandbox.state import SandboxState

MAX_CALLS = 100
_LINE = re.compile(rb"\A\s*([A-Z]+) (\S+)(?: HTTP/[\d.]+)?[ \t]*\r?\n")


def create_handler(_state: SandboxState) -> Handler:
    """Return the handler of paths below ``batch``."""
    return _batch


async def _batch(request: Request) -> Response | None:
    if request.method != "POST" or request.inner is None or request.batch is not None:
        return None
    head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n"
    outer = message_from_bytes(head.encode("latin-1") + request.body)
    parts = outer.get_payload()
    if not outer.is_multipart() or not isinstance(parts, list):
        return provider_a(400, message="Failed to parse batch request.", reason="badRequest")
    if len(parts) > MAX_CALLS:
        message = f"The batch request must not contain more than {MAX_CALLS} calls."
        return provider_a(400, message=message, reason="badRequest")
    batch = f"batch_{uuid4().hex}"
    pieces = await asyncio.gather(
        *(_respond_to_part(request, part, batch) for part in parts if isinstance(part, Message))
    )
    body = b"".join(b"--" + batch.encode() + b"\r\n" + piece for piece in pieces)
    return Response(
        body=body + b"--" + batch.encode() + b"--\r\n",
        headers={"content-type": f"multipart/mixed; boundary={batch}"},
    )


async def _respond_to_part(request: Request, part: Message, batch: str) -> bytes:
    inner = _read_inner_request(request, _payload(part), batch)
    if inner is None or request.inner is None:
        response = provider_a(400, message="Failed to parse batch part.", reason="badRequest")
    else:
        response = await request.inner(inner)
    content_id = str(part.get("Content-ID", "")).strip()
    response_id = (
        f"<response-{content_id[1:-1]}>" if content_id.startswith("<") else f"response-{content_id}"
    )
    lines = ["Content-Type: application/http"]
    lines += [f"Content-ID: {response_id}"] if content_id else []
    headers = {**response.headers, "content-length": str(len(response.body))}
    lines += ["", f"HTTP/1.1 {response.status} {_phrase(response.status)}"]
    lines += [f"{name.title()}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + response.body + b"\r\n"


def _read_inner_request(request: Request, payload: bytes, batch: str) -> Request | None:
    line = _LINE.match(payload)
    if line is None:
        return None
    target = line[2].decode("latin-1")
    # Clients include the mount prefix in the path of a part; Google has no such prefix.
    path = re.sub(r"^https?://[^/]+", "", target).removeprefix(urlsplit(request.public).path)
    segments, query = parse_target(path)
    headers, _, body = payload[line.end() :].replace(b"\r\n", b"\n").partition(b"\n\n")
    own = message_from_bytes(headers + b"\n\n")
    return replace(
        request,
        method=line[1].decode(),
        segments=segments,
        query=query,
        headers={name.lower(): str(value) for name, value in own.items()},
        body=body.rstrip(b"\n"),
        batch=batch,
    )


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    if isinstance(payload, bytes):
        return payload
    return part.as_bytes().partition(b"\n\n")[2]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
