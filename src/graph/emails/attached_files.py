"""Checks the attachments of a message to send: docs/spec/email.md#attachments-of-sent-messages."""

import binascii
import re
from collections.abc import Sequence

from graph.attachment_uploads import UploadedFile
from graph.context import Context
from graph.emails.inputs import AttachmentInput
from graph.emails.problems import Problems, unsafe
from providers.ports.mail import OutgoingFile, StoredContent

MAX_FILES = 50
MAX_BYTES = 3_000_000  # of all attachments in base64 of a message together, decoded
MAX_STORED_BYTES = 104_857_600  # of all attachments of a message together
MAX_NAME = 255  # characters
MAX_HANDLE = 100  # characters
BINARY = "application/octet-stream"

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}", re.ASCII)
_CONTAINERS = ("message/", "multipart/")  # their parts would become parts of the message


async def read(
    attachments: Sequence[AttachmentInput] | None, problems: Problems, context: Context
) -> tuple[OutgoingFile, ...]:
    """Return the files to attach; what is wrong with them is added to *problems*."""
    if not attachments:
        return ()
    if len(attachments) > MAX_FILES:
        problems.add("attachments", f"At most {MAX_FILES} files are allowed.")
        return ()
    # Four characters are three bytes: nothing too large is decoded.
    encoded = sum(len(file.content_base64 or "") for file in attachments)
    if encoded // 4 * 3 > MAX_BYTES + 2 * MAX_FILES:
        problems.add("attachments", _TOO_LARGE)
        return ()
    files = [
        await _stored(file, f"attachments[{index}]", problems, context)
        if file.handle is not None
        else _decoded(file, f"attachments[{index}]", problems)
        for index, file in enumerate(attachments)
    ]
    if sum(len(file.content) for file in files if isinstance(file.content, bytes)) > MAX_BYTES:
        problems.add("attachments", _TOO_LARGE)
    if sum(file.size for file in files) > MAX_STORED_BYTES:
        problems.add("attachments", f"A message has at most {MAX_STORED_BYTES} bytes of files.")
    return tuple(files)


_TOO_LARGE = (
    f"All files in base64 together may have at most {MAX_BYTES} bytes. Upload larger files, and"
    " attach them by their handles."
)


def check_name(name: str, path: str, problems: Problems) -> None:
    """Add what is wrong with a file name to *problems*."""
    if not 0 < len(name) <= MAX_NAME or not name.strip():
        problems.add(path, f"A file name has 1 to {MAX_NAME} characters, not only spaces.")
    if unsafe(name):
        problems.add(path, "Line breaks and control characters are not allowed.")


def check_media_type(media_type: str | None, path: str, problems: Problems) -> str:
    """Return a MIME type in lower case; what is wrong with it is added to *problems*."""
    media_type = (media_type or BINARY).lower()
    if not _MEDIA_TYPE.fullmatch(media_type):
        problems.add(path, "It must be a MIME type without parameters: text/plain.")
    elif media_type.startswith(_CONTAINERS):
        problems.add(path, "Types that begin with 'message/' or 'multipart/' cannot be attached.")
    return media_type


def _decoded(file: AttachmentInput, path: str, problems: Problems) -> OutgoingFile:
    name, encoded = file.name, file.content_base64
    for member, value in (("name", name), ("contentBase64", encoded)):
        if value is None:
            problems.add(f"{path}.{member}", "It is required, unless there is a handle.")
    if name is not None:
        check_name(name, f"{path}.name", problems)
    media_type = check_media_type(file.content_type, f"{path}.contentType", problems)
    content = b""
    try:
        content = binascii.a2b_base64(encoded or "", strict_mode=True)
    except ValueError:
        problems.add(f"{path}.contentBase64", "It must be base64 (RFC 4648, section 4).")
    return OutgoingFile(name=name or "", media_type=media_type, content=content)


async def _stored(
    file: AttachmentInput, path: str, problems: Problems, context: Context
) -> OutgoingFile:
    if file.content_base64 is not None:
        problems.add(f"{path}.contentBase64", "It cannot be combined with a handle.")
    if file.name is not None:
        check_name(file.name, f"{path}.name", problems)
    media_type = check_media_type(file.content_type, f"{path}.contentType", problems)
    upload = await find(file.handle or "", context)
    if upload is None:
        # A retry that only sends its stored draft needs no file any more.
        if context.delivery is None or context.delivery.draft_id is None:
            problems.add(f"{path}.handle", "This token has no uploaded file with this handle.")
        return OutgoingFile(name=file.name or "", media_type=media_type, content=b"")
    return OutgoingFile(
        name=file.name or upload.name,
        media_type=media_type if file.content_type else upload.media_type,
        content=StoredContent(upload.handle, upload.size, upload.chunks),
    )


async def find(handle: str, context: Context) -> UploadedFile | None:
    """Return the token's uploaded file with this handle; None when it has none, or not any more."""
    if context.uploads is None or not _may_be_handle(handle):
        return None
    return await context.uploads.find(handle)


async def delete(handle: str, context: Context) -> bool:
    """Delete the token's uploaded file with this handle; return whether there was one."""
    if context.uploads is None or not _may_be_handle(handle):
        return False
    return await context.uploads.delete(handle)


def _may_be_handle(text: str) -> bool:
    return 0 < len(text) <= MAX_HANDLE and text.isascii()
