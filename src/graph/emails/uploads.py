"""Root mutations of files to attach: docs/spec/email.md#uploaded-attachments."""

from collections.abc import AsyncIterator
from typing import Annotated, cast

import strawberry

from graph import file_content
from graph.context import Info
from graph.emails import attached_files
from graph.emails.problems import Problems
from graph.emails.sending import require_writable
from graph.emails.types import EmailActionResult, UploadedAttachment
from graph.masking.guards import guarded
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code, EmailOp
from providers.dry_run import before_call, in_dry_run
from providers.write_previews import Change, Resource, describe

Argument = strawberry.argument
_FORM = "application/x-www-form-urlencoded"  # what clients announce when they announce nothing


_USES = (EmailOp.SEND_EMAIL, EmailOp.REPLY_TO_EMAIL, EmailOp.FORWARD_EMAIL)


@guarded(*_USES)
async def upload_email_attachment(
    info: Info,
    content: Annotated[file_content.FileContent, Argument(name="input", description="The bytes.")],
    file_name: Annotated[str, Argument(description="1 to 255 characters.")],
    *,
    content_type: Annotated[
        str | None,
        Argument(description="The MIME type; default: that of the upload, if it has one."),
    ] = None,
) -> UploadedAttachment:
    """Store a file for an hour, to be attached to messages by its handle."""
    context, body = info.context, cast("file_content.UploadBody", content)
    problems = Problems()
    attached_files.check_name(file_name, "fileName", problems)
    media_type = attached_files.check_media_type(content_type, "contentType", problems)
    problems.raise_if_any()
    require_writable(context)
    if content_type is None:
        media_type = _announced(body.mime_type)
    if context.uploads is None:
        raise InvalidInput("Files cannot be uploaded here.", code=Code.VALIDATION_ERROR)
    describe(
        changes=(
            Change(field="name", before=None, after=file_name),
            Change(field="contentType", before=None, after=media_type),
        )
    )
    chunks = file_content.described_chunks(body)
    try:
        if in_dry_run():
            size = sum([len(chunk) async for chunk in chunks])
            await context.uploads.require_room(size)
            before_call("POST", changes=True)
        stored = await context.uploads.store(file_name, media_type, _confirmed(chunks))
    except Exception as failure:
        if body.read_error is not None:
            raise InvalidInput(
                "The upload was interrupted.", code=Code.VALIDATION_ERROR
            ) from failure
        raise
    return UploadedAttachment(
        handle=stored.handle,
        name=stored.name,
        content_type=stored.media_type,
        size=stored.size,
        expires_at=stored.expires_at,
    )


@guarded(*_USES)
async def delete_uploaded_attachment(
    info: Info, handle: Annotated[str, Argument(description="The handle that the upload returned.")]
) -> EmailActionResult:
    """Delete an uploaded file before its hour is over. Messages that were sent keep theirs."""
    context = info.context
    require_writable(context)
    file = await attached_files.find(handle, context)
    if file is not None:
        describe(target=Resource(kind="attachment", id=handle, name=file.name))
        before_call("DELETE", changes=True)
    if file is None or not await attached_files.delete(handle, context):
        raise NotFound("This token has no uploaded file with this handle.")
    return EmailActionResult()


async def _confirmed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield *chunks*; after the last one, only if the write may happen."""
    async for chunk in chunks:
        yield chunk
    before_call("POST", changes=True)


def _announced(mime_type: str | None) -> str:
    """Return the type of an upload by its own header; bytes of unknown type when it has none."""
    announced = (mime_type or "").partition(";")[0].strip().lower()
    problems = Problems()
    media_type = attached_files.check_media_type(announced, "contentType", problems)
    return attached_files.BINARY if problems.details or announced == _FORM else media_type
