"""Root mutation that stores a file to attach: docs/spec/email.md#uploaded-attachments."""

from typing import Annotated, cast

import strawberry

from graph import file_content
from graph.context import Info
from graph.emails import attached_files
from graph.emails.problems import Problems
from graph.emails.sending import require_writable
from graph.emails.types import UploadedAttachment
from graph.emails.views import UploadedAttachmentView
from graph.masking.guards import guarded
from policy.refusals import InvalidInput
from policy.vocabulary import Code, EmailOp
from providers.dry_run import forbid_writes

Argument = strawberry.argument
_FORM = "application/x-www-form-urlencoded"  # what clients announce when they announce nothing


@guarded(
    EmailOp.SEND_EMAIL, EmailOp.REPLY_TO_EMAIL, EmailOp.FORWARD_EMAIL, returns=UploadedAttachment
)
async def upload_email_attachment(
    info: Info,
    content: Annotated[file_content.FileContent, Argument(name="input", description="The bytes.")],
    file_name: Annotated[str, Argument(description="1 to 255 characters.")],
    *,
    content_type: Annotated[
        str | None,
        Argument(description="The MIME type; default: that of the upload, if it has one."),
    ] = None,
) -> UploadedAttachmentView:
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
    forbid_writes("POST", changes=True)
    try:
        stored = await context.uploads.store(file_name, media_type, body.chunks())
    except Exception as failure:
        if body.read_error is not None:
            raise InvalidInput("The upload broke off.", code=Code.VALIDATION_ERROR) from failure
        raise
    return UploadedAttachmentView(
        handle=stored.handle,
        name=stored.name,
        content_type=stored.media_type,
        size=stored.size,
        expires_at=stored.expires_at,
    )


def _announced(mime_type: str | None) -> str:
    """Return the type of an upload by its own header; bytes of unknown type when it has none."""
    announced = (mime_type or "").partition(";")[0].strip().lower()
    problems = Problems()
    media_type = attached_files.check_media_type(announced, "contentType", problems)
    return attached_files.BINARY if problems.details or announced == _FORM else media_type
