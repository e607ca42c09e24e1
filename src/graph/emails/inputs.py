"""Inputs of the email mutations: required members are non-null, others have the REST defaults."""

import strawberry

from graph.emails.enums import BodyType, Importance
from graph.scalars import Long

_BODY_TYPE = "The format of the body."


@strawberry.input(description="A person or mailbox to write to.")
class ParticipantInput:
    email: str = strawberry.field(description="The e-mail address.")
    name: str | None = strawberry.field(default=None, description="The display name.")


@strawberry.input(
    description="A file to attach to a message: its bytes, or the handle of an uploaded file."
)
class AttachmentInput:
    name: str | None = strawberry.field(
        default=None, description="The file name; 1 to 255 characters. Required without a handle."
    )
    content_base64: str | None = strawberry.field(
        default=None,
        description=(
            "The bytes in base64; those of all attachments together have at most 3,000,000 bytes. "
            "Required without a handle."
        ),
    )
    content_type: str | None = strawberry.field(
        default=None,
        description="The MIME type; if absent, that of the upload or `application/octet-stream`.",
    )
    handle: str | None = strawberry.field(
        default=None, description="The handle of a file that this token uploaded within the hour."
    )


_ATTACHMENTS = "At most 50 files."


@strawberry.input(description="A new message.")
class SendEmailInput:
    to: list[ParticipantInput] = strawberry.field(description="At least one recipient.")
    subject: str = strawberry.field(description="May be empty; at most 998 characters.")
    body: str = strawberry.field(description="May be empty.")
    cc: list[ParticipantInput] | None = strawberry.field(default=None, description="Carbon copy.")
    bcc: list[ParticipantInput] | None = strawberry.field(default=None, description="Blind copy.")
    body_type: BodyType | None = strawberry.field(default=BodyType.HTML, description=_BODY_TYPE)
    importance: Importance | None = strawberry.field(
        default=Importance.NORMAL, description="The importance."
    )
    connection_id: Long | None = strawberry.field(
        default=None,
        description="The connection to send from; the first active one that may write if absent.",
    )
    attachments: list[AttachmentInput] | None = strawberry.field(
        default=None, description=_ATTACHMENTS
    )


@strawberry.input(
    description="A draft of a new message; with `replyTo` or `forwardOf`, of a reply or a forward."
)
class CreateDraftInput:
    body: str = strawberry.field(description="May be empty; above what is quoted or forwarded.")
    to: list[ParticipantInput] | None = strawberry.field(
        default=None, description="May be empty. Not with `replyTo`, which derives the recipients."
    )
    cc: list[ParticipantInput] | None = strawberry.field(
        default=None, description="Carbon copy. Not with `replyTo`."
    )
    bcc: list[ParticipantInput] | None = strawberry.field(
        default=None, description="Blind copy. Of new messages."
    )
    subject: str | None = strawberry.field(
        default=None, description="At most 998 characters. Of new messages."
    )
    body_type: BodyType | None = strawberry.field(default=BodyType.HTML, description=_BODY_TYPE)
    importance: Importance | None = strawberry.field(
        default=None, description="`normal` if absent. Of new messages."
    )
    connection_id: Long | None = strawberry.field(
        default=None,
        description=(
            "The connection that holds the draft; the first active one that may write if absent. "
            "Of new messages: replies and forwards are where the original is."
        ),
    )
    attachments: list[AttachmentInput] | None = strawberry.field(
        default=None, description=_ATTACHMENTS
    )
    reply_to: str | None = strawberry.field(
        default=None, description="The id of the message that is answered. Needs `view_email`."
    )
    reply_all: bool | None = strawberry.field(
        default=None, description="Whether the reply goes to all recipients. With `replyTo`."
    )
    forward_of: str | None = strawberry.field(
        default=None, description="The id of the message that is forwarded. Needs `view_email`."
    )


@strawberry.input(
    description="A change of a draft: at least one member; what is absent or null stays as it is."
)
class UpdateDraftInput:
    to: list[ParticipantInput] | None = strawberry.field(
        default=None, description="All recipients; may be empty."
    )
    cc: list[ParticipantInput] | None = strawberry.field(default=None, description="Carbon copy.")
    bcc: list[ParticipantInput] | None = strawberry.field(default=None, description="Blind copy.")
    subject: str | None = strawberry.field(default=None, description="At most 998 characters.")
    body: str | None = strawberry.field(default=None, description="The whole text.")
    body_type: BodyType | None = strawberry.field(
        default=None, description="The format of `body`; `html` if absent."
    )
    importance: Importance | None = strawberry.field(default=None, description="The importance.")
    add_attachments: list[AttachmentInput] | None = strawberry.field(
        default=None, description=_ATTACHMENTS
    )
    remove_attachments: list[str] | None = strawberry.field(
        default=None, description="Ids in `Email.attachments`; at most 50."
    )


@strawberry.input(description="A reply to a message.")
class ReplyEmailInput:
    body: str = strawberry.field(description="The text of the reply.")
    body_type: BodyType | None = strawberry.field(default=BodyType.HTML, description=_BODY_TYPE)
    reply_all: bool | None = strawberry.field(
        default=False, description="Whether the reply goes to all recipients."
    )
    attachments: list[AttachmentInput] | None = strawberry.field(
        default=None, description=_ATTACHMENTS
    )


@strawberry.input(description="A forwarded message, with its attachments.")
class ForwardEmailInput:
    to: list[ParticipantInput] = strawberry.field(description="At least one recipient.")
    cc: list[ParticipantInput] | None = strawberry.field(default=None, description="Carbon copy.")
    body: str | None = strawberry.field(
        default=None, description="The text above the forwarded message."
    )
    body_type: BodyType | None = strawberry.field(default=BodyType.HTML, description=_BODY_TYPE)
    attachments: list[AttachmentInput] | None = strawberry.field(
        default=None, description=f"Besides those of the original. {_ATTACHMENTS}"
    )


@strawberry.input(description="At least one member is required; each needs its own operation.")
class ModifyEmailInput:
    mark_as_read: bool | None = strawberry.field(
        default=None, description="True for read, false for unread. Needs `mark_as_read`."
    )
    add_labels: list[str] | None = strawberry.field(
        default=None, description="At most 50. Needs `apply_labels`."
    )
    remove_labels: list[str] | None = strawberry.field(
        default=None, description="At most 50. Needs `apply_labels`."
    )
