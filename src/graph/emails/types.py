"""Output types of the email surface."""

from datetime import datetime
from typing import Annotated

import strawberry

from graph.context import Info
from graph.emails.enums import BodyType, Importance, MailProvider
from graph.emails.texts import text_of
from graph.scalars import Long
from policy.vocabulary import Surface
from providers.records import mail as records


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


_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."


@strawberry.type(description="A person or mailbox in a message's header.")
class Participant:
    email: str = strawberry.field(description="The e-mail address.")
    name: str | None = strawberry.field(description="The display name.")


@strawberry.type(description="An attachment without its bytes, which `emailAttachment` leads to.")
class Attachment:
    id: str = strawberry.field(description="Valid together with the id of its message only.")
    name: str = strawberry.field(description="The file name.")
    content_type: str | None = strawberry.field(description="The MIME type.")
    size: Long = strawberry.field(description="Size in bytes.")
    is_inline: bool = strawberry.field(description="Whether it is an inline attachment.")


@strawberry.type(description="An attachment, and a link to its bytes.")
class EmailAttachment:
    id: str = strawberry.field(description="As in `Email.attachments`.")
    name: str = strawberry.field(description="The file name.")
    content_type: str | None = strawberry.field(description="The MIME type.")
    size: Long = strawberry.field(description="Bytes, as the provider tells.")
    is_inline: bool = strawberry.field(description="Whether it is an inline attachment.")
    download_url: str | None = strawberry.field(
        description="Needs no credentials, and is valid for five minutes while the token is."
    )
    expires_at: datetime | None = strawberry.field(description="The end of `downloadUrl`.")


@strawberry.type(description="A message.")
class Email:
    id: str = strawberry.field(description="Provider-prefixed id: `providerA:…`.")
    thread_id: str | None = strawberry.field(description="Provider-prefixed id of the thread.")
    subject: str | None = strawberry.field(description="The subject.")
    from_: Participant | None = strawberry.field(name="from", description="The sender.")
    to: list[Participant] | None = strawberry.field(description="The recipients.")
    cc: list[Participant] | None = strawberry.field(description="The carbon-copy recipients.")
    bcc: list[Participant] | None = strawberry.field(description="The blind-copy recipients.")
    body_preview: str | None = strawberry.field(description="A short snippet of the body.")
    body: str | None = strawberry.field(description="The body; null unless `includeBody` is true.")
    body_type: BodyType | None = strawberry.field(description="The format of the body.")
    text: str | None = strawberry.field(resolver=email_text, description="`body` as readable text.")
    sent_at: datetime | None = strawberry.field(
        description="The time at which the message was sent."
    )
    received_at: datetime | None = strawberry.field(
        description="The time at which the message was received."
    )
    is_read: bool = strawberry.field(description="Whether the message is read.")
    has_attachments: bool = strawberry.field(description="Whether it has attachments.")
    attachments: list[Attachment] | None = strawberry.field(description="Metadata only.")
    labels: list[str] | None = strawberry.field(description="Labels or categories.")
    importance: Importance | None = strawberry.field(description="The importance.")
    provider: MailProvider = strawberry.field(description="The provider's code.")
    access_info: str | None = strawberry.field(resolver=access_info, description=_ACCESS_INFO)


@strawberry.type(description="A conversation.")
class Thread:
    id: str = strawberry.field(description="Provider-prefixed id.")
    subject: str | None = strawberry.field(description="The subject of the first message.")
    messages: list[Email] = strawberry.field(
        description="All messages, oldest first, without drafts and trashed ones, with bodies."
    )
    message_count: int = strawberry.field(description="The number of messages.")
    participants: list[Participant] | None = strawberry.field(
        description="Each address once: the senders and recipients that the token may see."
    )
    last_message_at: datetime | None = strawberry.field(
        description="The time at which the newest message was received."
    )
    provider: MailProvider = strawberry.field(description="The provider's code.")
    access_info: str | None = strawberry.field(resolver=access_info, description=_ACCESS_INFO)


@strawberry.type(description="A page of messages over all connected mailboxes, newest first.")
class EmailPage:
    emails: list[Email] = strawberry.field(description="Newest first by received time.")
    total_count: int = strawberry.field(
        description="The number of matching messages, as far as it is known."
    )
    total_count_exact: bool = strawberry.field(
        description="Whether `totalCount` was counted rather than estimated by a provider."
    )
    has_more: bool = strawberry.field(description="Whether there is another page.")
    next_page_token: str | None = strawberry.field(
        description="Pass it as `pageToken` to get the next page; null on the last one."
    )
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(
        description="One sentence per mailbox that could not be read, or not whole; else null."
    )


@strawberry.type(description="A conversation that has messages on a page of messages.")
class ThreadEntry:
    id: str = strawberry.field(description="Provider-prefixed id of the conversation.")


@strawberry.type(description="The conversations of a page of messages, each once.")
class ThreadPage:
    threads: list[ThreadEntry] = strawberry.field(
        description="By their newest messages on the page, newest first."
    )
    has_more: bool = strawberry.field(description="Whether there is another page.")
    next_page_token: str | None = strawberry.field(
        description="Pass it as `pageToken` to get the next page; null on the last one."
    )
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(
        description="One sentence per mailbox that could not be read, or not whole; else null."
    )


@strawberry.type(description="The result of a send, reply, forward, change or deletion.")
class EmailActionResult:
    success: bool = strawberry.field(description="Whether the operation was carried out.")
    email_id: str | None = strawberry.field(
        description="The message's id; null for messages that provider B has sent."
    )
    thread_id: str | None = strawberry.field(
        description="The thread's id; null for messages that provider B has sent."
    )
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")
    held: str | None = strawberry.field(
        description="`draft`: the message is a draft, which a person is to send; null: it is sent."
    )


@strawberry.type(description="A file that was uploaded to be attached to messages.")
class UploadedAttachment:
    handle: str = strawberry.field(
        description="Pass it in `attachments` of a send, reply or forward, with the same token."
    )
    name: str | None = strawberry.field(description="The file name.")
    content_type: str | None = strawberry.field(description="The MIME type.")
    size: Long | None = strawberry.field(description="Bytes.")
    expires_at: datetime | None = strawberry.field(
        description="The time from which the handle is unknown: an hour after the upload."
    )
