"""Checks the attachments of a message to send: docs/spec/email.md#attachments-of-sent-messages."""

import binascii
import re
from collections.abc import Sequence

from graph.emails.inputs import AttachmentInput
from graph.emails.problems import Problems, unsafe
from providers.ports.mail import OutgoingFile

MAX_FILES = 50
MAX_BYTES = 3_000_000  # of all attachments of a message together, decoded
MAX_NAME = 255  # characters
BINARY = "application/octet-stream"

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}", re.ASCII)
_CONTAINERS = ("message/", "multipart/")  # their parts would become parts of the message


def read(
    attachments: Sequence[AttachmentInput] | None, problems: Problems
) -> tuple[OutgoingFile, ...]:
    """Return the files to attach; what is wrong with them is added to *problems*."""
    if not attachments:
        return ()
    if len(attachments) > MAX_FILES:
        problems.add("attachments", f"At most {MAX_FILES} files are allowed.")
        return ()
    # Four characters are three bytes: nothing too large is decoded.
    if sum(len(file.content_base64) for file in attachments) // 4 * 3 > MAX_BYTES + 2 * MAX_FILES:
        problems.add("attachments", _TOO_LARGE)
        return ()
    files = tuple(
        _read(file, f"attachments[{index}]", problems) for index, file in enumerate(attachments)
    )
    if sum(len(file.content) for file in files) > MAX_BYTES:
        problems.add("attachments", _TOO_LARGE)
    return files


_TOO_LARGE = f"All files together may have at most {MAX_BYTES} bytes."


def _read(file: AttachmentInput, path: str, problems: Problems) -> OutgoingFile:
    if not 0 < len(file.name) <= MAX_NAME or not file.name.strip():
        problems.add(
            f"{path}.name", f"A file name has 1 to {MAX_NAME} characters, not only blanks."
        )
    if unsafe(file.name):
        problems.add(f"{path}.name", "Line breaks and control characters are not allowed.")
    media_type = (file.content_type or BINARY).lower()
    if not _MEDIA_TYPE.fullmatch(media_type):
        problems.add(
            f"{path}.contentType", "It must be a MIME type without parameters: text/plain."
        )
    elif media_type.startswith(_CONTAINERS):
        problems.add(f"{path}.contentType", "Messages and multiparts cannot be attached.")
    try:
        content = binascii.a2b_base64(file.content_base64, strict_mode=True)
    except ValueError:
        problems.add(f"{path}.contentBase64", "It must be base64 (RFC 4648, section 4).")
        content = b""
    return OutgoingFile(name=file.name, media_type=media_type, content=content)
