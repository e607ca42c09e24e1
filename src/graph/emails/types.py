"""Output types of the email surface; those of the results that are not records of mail too."""

from datetime import datetime
from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails.enums import BodyType, Importance, MailProvider
from graph.emails.texts import text_of
from graph.output_types import (
    ACCESS_INFO,
    AccessInfo,
    ErrorText,
    HasMore,
    NextPageToken,
    Success,
    masked,
    output,
    output_of,
    visible,
)
from graph.scalars import Long
from policy.vocabulary import EmailField, Surface
from providers.records import mail as records
from providers.records.base import Record


def access_info(info: Info) -> str | None:
    """Describe the token's restrictions on the email surface."""
    return info.context.caller.access_info(Surface.EMAIL)


async def email_text(
    root: strawberry.Parent[records.Email],
    info: Info,
    *,
    quoted: Annotated[
        bool, strawberry.argument(description="False: no quotations, no signatures.")
    ] = True,
) -> str | None:
    """Return the readable text of a message."""
    return await text_of(info.context, root, quoted=quoted)


Warnings = Annotated[
    tuple[str, ...] | None,
    visible("One sentence per mailbox that could not be read, or not whole; else null."),
]
_Provider = visible("The provider's code.", graphql_type=MailProvider)


@output_of(records.Participant)
class Participant:
    """A person or mailbox in a message's header."""

    email = visible("The e-mail address.")
    name = visible("The display name.")


@output_of(records.Attachment)
class Attachment:
    """An attachment without its bytes, which `emailAttachment` leads to."""

    id = visible("Valid together with the id of its message only.")
    name = visible("The file name.")
    content_type = visible("The MIME type.")
    size = visible("Size in bytes.", graphql_type=Long)
    is_inline = visible("Whether it is an inline attachment.")


@output
class EmailAttachment(Record, frozen=True, kw_only=True):
    """An attachment, and a link to its bytes."""

    id: Annotated[str, visible("As in `Email.attachments`.")]
    name: Annotated[str, visible("The file name.")]
    content_type: Annotated[str | None, visible("The MIME type.")]
    size: Annotated[int, visible("Bytes, as the provider tells.", graphql_type=Long)]
    is_inline: Annotated[bool, visible("Whether it is an inline attachment.")]
    download_url: Annotated[
        str | None,
        visible("Needs no credentials, and is valid for five minutes while the token is."),
    ]
    expires_at: Annotated[datetime | None, visible("The end of `downloadUrl`.")]


@output_of(records.Email)
class Email:
    """A message."""

    id = visible("Provider-prefixed id: `providerA:…`.")
    thread_id = visible("Provider-prefixed id of the thread.")
    subject = masked(EmailField.SUBJECT, "The subject.")
    from_ = masked(EmailField.FROM, "The sender.")
    to = masked(EmailField.TO, "The recipients.")
    cc = masked(EmailField.CC, "The carbon-copy recipients.")
    bcc = masked(EmailField.BCC, "The blind-copy recipients.")
    body_preview = masked(EmailField.BODY_PREVIEW, "A short snippet of the body.")
    body = masked(EmailField.BODY, "The body; null unless `includeBody` is true.")
    body_type = masked(EmailField.BODY, "The format of the body.", graphql_type=BodyType | None)
    text = masked(EmailField.BODY, "`body` as readable text.", resolver=email_text)
    sent_at = masked(EmailField.SENT_AT, "The time at which the message was sent.")
    received_at = masked(EmailField.RECEIVED_AT, "The time at which the message was received.")
    is_read = visible("Whether the message is read.")
    has_attachments = visible("Whether it has attachments.")
    attachments = masked(EmailField.ATTACHMENTS, "Metadata only.")
    labels = masked(EmailField.LABELS, "Labels or categories.")
    importance = masked(EmailField.IMPORTANCE, "The importance.", graphql_type=Importance | None)
    provider = _Provider
    connection_id = masked(
        EmailField.CONNECTION_ID,
        "The connection of the mailbox that it was read from.",
        graphql_type=Long | None,
    )
    access_info = visible(ACCESS_INFO, resolver=access_info)


@output_of(records.StoredDraft)
class Draft:
    """A draft: a message that a person can still change and send."""

    id = visible("Provider-prefixed id of the draft.")
    version = visible("For `ifMatch`: another one after each change of the draft.")
    email = visible("The message as it is now.")


@output
class DraftPage(Record, frozen=True, kw_only=True):
    """A page of the drafts in all connected mailboxes, newest first."""

    drafts: Annotated[
        tuple[records.StoredDraft, ...], visible("By the time of their last change, newest first.")
    ]
    has_more: HasMore
    next_page_token: NextPageToken
    access_info: AccessInfo
    auth_warnings: Warnings


@output
class Thread(Record, frozen=True, kw_only=True):
    """A conversation."""

    id: Annotated[str, visible("Provider-prefixed id.")]
    subject: Annotated[str | None, masked(EmailField.SUBJECT, "The subject of the first message.")]
    messages: Annotated[
        tuple[records.Email, ...],
        visible("All messages, oldest first, without drafts and trashed ones, with bodies."),
    ]
    message_count: Annotated[int, visible("The number of messages.")]
    participants: Annotated[
        tuple[records.Participant, ...] | None,
        masked(
            (EmailField.FROM, EmailField.TO, EmailField.CC),
            "Each address once: the senders and recipients that the token may see.",
        ),
    ]
    last_message_at: Annotated[
        datetime | None,
        masked(EmailField.RECEIVED_AT, "The time at which the newest message was received."),
    ]
    provider: Annotated[str, _Provider]
    access_info: AccessInfo


@output
class EmailPage(Record, frozen=True, kw_only=True):
    """A page of messages over all connected mailboxes, newest first."""

    emails: Annotated[tuple[records.Email, ...], visible("Newest first by received time.")]
    total_count: Annotated[int, visible("The number of matching messages, as far as it is known.")]
    total_count_exact: Annotated[
        bool, visible("Whether `totalCount` was counted rather than estimated by a provider.")
    ]
    has_more: HasMore
    next_page_token: NextPageToken
    access_info: AccessInfo
    auth_warnings: Warnings


@output
class ThreadEntry(Record, frozen=True, kw_only=True):
    """A conversation that has messages on a page of messages."""

    id: Annotated[str, visible("Provider-prefixed id of the conversation.")]


@output
class ThreadPage(Record, frozen=True, kw_only=True):
    """The conversations of a page of messages, each once."""

    threads: Annotated[
        tuple[ThreadEntry, ...], visible("By their newest messages on the page, newest first.")
    ]
    has_more: HasMore
    next_page_token: NextPageToken
    access_info: AccessInfo
    auth_warnings: Warnings


@output
class EmailActionResult(Record, frozen=True, kw_only=True):
    """The result of a send, reply, forward, change or deletion."""

    success: Success = True
    email_id: Annotated[
        str | None, visible("The message's id; null for messages that provider B has sent.")
    ] = None
    thread_id: Annotated[
        str | None, visible("The thread's id; null for messages that provider B has sent.")
    ] = None
    error_code: ErrorText = None
    error_message: ErrorText = None
    held: Annotated[
        str | None,
        visible("`draft`: the message is a draft, which a person is to send; null: it is sent."),
    ] = None


@output
class DraftActionResult(Record, frozen=True, kw_only=True):
    """The result of a change of a draft."""

    success: Success = True
    draft_id: Annotated[
        str | None, visible("The draft's id; another one on own servers after each change.")
    ] = None
    version: Annotated[str | None, visible("The draft's version after the change.")] = None
    email_id: Annotated[str | None, visible("The id of the message in the draft.")] = None
    error_code: ErrorText = None
    error_message: ErrorText = None


@output
class UploadedAttachment(Record, frozen=True, kw_only=True):
    """A file that was uploaded to be attached to messages."""

    handle: Annotated[
        str, visible("Pass it in `attachments` of a send, reply or forward, with the same token.")
    ] = ""
    name: Annotated[str | None, visible("The file name.")] = None
    content_type: Annotated[str | None, visible("The MIME type.")] = None
    size: Annotated[int | None, visible("Bytes.", graphql_type=Long | None)] = None
    expires_at: Annotated[
        datetime | None,
        visible("The time from which the handle is unknown: an hour after the upload."),
    ] = None
