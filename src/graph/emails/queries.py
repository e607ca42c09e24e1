"""Root queries of the email surface: messages, conversations and attachments."""

from datetime import datetime
from functools import lru_cache
from typing import Annotated

import msgspec
import strawberry

from graph.context import Context, Info
from graph.emails import filters as filtering
from graph.emails import page_positions
from graph.emails.enums import BodyType
from graph.emails.filters import NO_FILTERS, Filters
from graph.emails.texts import with_body_as
from graph.emails.threads import visible_thread
from graph.emails.types import EmailAttachment, EmailPage, Thread, ThreadEntry, ThreadPage
from graph.execution.requested_fields import projection
from graph.file_content import FileText, read_text, require_text
from graph.masking.guards import guarded
from graph.warnings import all_failed_error, warnings
from policy.caller import Caller
from policy.refusals import FieldNotVisible, InvalidInput, NotFound
from policy.vocabulary import EmailField, EmailOp, Surface
from providers import ids
from providers.failures import Missing
from providers.fanout import AllFailed
from providers.mail import query_matching
from providers.mail.merging import MailPage
from providers.ports.mail import AttachmentFile, MailQuery
from providers.records import mail as mail_records

_BODY = frozenset({"body", "body_type"})

Argument = strawberry.argument
Participant = Annotated[
    str | None,
    Argument(description="A value of `from` or `to`; or up to ten addresses, one of them."),
]
After = Annotated[datetime | None, Argument(description="Received after this time.")]
Before = Annotated[datetime | None, Argument(description="Received earlier than this.")]
Limit = Annotated[int | None, Argument(description="1 to 50; more is lowered to 50.")]
PageToken = Annotated[str | None, Argument(description="`nextPageToken` of the previous page.")]


@guarded(
    EmailOp.SEARCH_EMAILS,
    max_limit=filtering.MAX_LIMIT,
    revealing=filtering.REVEALING,
    searching={"q": tuple(filtering.SEARCHED)},
)
async def emails(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    q: Annotated[
        str | None, Argument(description='Words and "quoted phrases", each of which must be found.')
    ] = None,
    from_: Annotated[
        str | None, Argument(name="from", description="Sender: address, its beginning, or @domain.")
    ] = None,
    to: Annotated[
        str | None, Argument(description="Recipient, or in cc: address, @domain, or its beginning.")
    ] = None,
    participant: Participant = None,
    subject: Annotated[str | None, Argument(description="Words of the subject, in order.")] = None,
    label: Annotated[
        str | None,
        Argument(description="A label, any letter case; TRASH, SPAM, DRAFT: these folders."),
    ] = None,
    unread: Annotated[bool | None, Argument(description="True: only unread messages.")] = None,
    after: After = None,
    before: Before = None,
    has_attachment: Annotated[
        bool | None, Argument(description="True: with attachments only; false: without.")
    ] = None,
    limit: Limit = 20,
    include_body: Annotated[
        bool | None, Argument(description="False: `body` and `bodyType` are null.")
    ] = False,
    page_token: PageToken = None,
) -> EmailPage:
    """Search every connected mailbox at once, newest first."""
    filters = Filters(
        q=q,
        sender=from_,
        recipient=to,
        participant=participant,
        subject=subject,
        label=label,
        unread=unread,
        after=after,
        before=before,
        has_attachment=has_attachment,
    )
    fields = with_body(projection(info.raw, "Email"), keep=include_body)
    page, token = await read_page(info, filters, limit=limit, page_token=page_token, fields=fields)
    return _view(info.context, page, token)


@guarded(
    EmailOp.SEARCH_EMAILS,
    max_limit=filtering.MAX_LIMIT,
    revealing={name: filtering.REVEALING[name] for name in ("participant", "after", "before")},
)
async def email_threads(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    participant: Participant = None,
    after: After = None,
    before: Before = None,
    limit: Limit = 20,
    page_token: PageToken = None,
) -> ThreadPage:
    """List the conversations of a page of messages; another page may have them too."""
    filters = msgspec.structs.replace(
        NO_FILTERS, participant=participant, after=after, before=before
    )
    page, token = await read_page(
        info, filters, limit=limit, page_token=page_token, fields=frozenset({"thread_id"})
    )
    names = dict.fromkeys(email.thread_id for email in page.emails if email.thread_id)
    return ThreadPage(
        threads=tuple(ThreadEntry(id=name) for name in names),
        has_more=page.has_more,
        next_page_token=token,
        access_info=info.context.caller.access_info(Surface.EMAIL),
        auth_warnings=warnings(info.context, Surface.EMAIL, page.warnings),
    )


async def read_page(
    info: Info,
    filters: Filters,
    *,
    limit: int | None,
    page_token: str | None,
    fields: frozenset[str],
) -> tuple[MailPage, str | None]:
    """Read a page of messages with *fields*; return it and the token of the next one."""
    context = info.context
    filters.check()
    size = context.clamp_limit(limit, default=20, maximum=filtering.MAX_LIMIT)
    positions = page_positions.unseal(context, filters, page_token)
    page_positions.require_room(context.caller.usable_connections(Surface.EMAIL))
    query = filtering.query(filters, context.caller, limit=size)
    context.caller.require_any(Surface.EMAIL, lambda it: _require_listing(it, filters, query))
    foreseen = with_body(projection(info.raw, "LastContact.email"), keep=False)
    if foreseen:
        fields |= foreseen
    try:
        mailbox = context.mail
        if filters.folder is not None:
            mailbox = context.mail_of_drafts(EmailOp.VIEW_DRAFTS)
        page = await mailbox.search(query, positions=positions, projection=fields)
    except AllFailed as failure:
        raise all_failed_error(failure) from failure
    is_newest = foreseen and query_matching.is_unrestricted(query) and not positions
    if is_newest and not page.warnings and not context.caller.grant.accounts:
        context.loaders.keep_newest(page.emails, fields)  # for edges that the page may answer
    following = {**positions, **page.positions}
    token = page_positions.seal(context, filters, following) if page.has_more else None
    return page, token


def _require_listing(account: Caller, filters: Filters, query: MailQuery) -> None:
    if filters.folder is not None:
        account.admit(Surface.EMAIL, EmailOp.VIEW_DRAFTS)
    else:
        account.admit(Surface.EMAIL, EmailOp.SEARCH_EMAILS)
        filtering.narrowed(query, account)


@guarded(EmailOp.VIEW_EMAIL)
async def email(
    info: Info,
    email_id: Annotated[str, Argument(description="Provider-prefixed id.")],
    *,
    include_body: Annotated[
        bool | None, Argument(description="False: `body` and `bodyType` are null.")
    ] = True,
    body_as: Annotated[
        BodyType | None, Argument(description="The format of `body`; null: as it is.")
    ] = None,
    quoted: Annotated[bool | None, Argument(description="As that of `text`.")] = True,
) -> mail_records.Email:
    """Read one message, also a trashed one."""
    context = info.context
    if quoted is False and body_as is not BodyType.TEXT:
        raise InvalidInput("quoted=false needs bodyAs=text.")
    context.caller.usable_connections(Surface.EMAIL)
    if ids.split_mail_id(email_id) is None:
        raise no_email()
    keep_body = include_body is not False
    fields = with_body(projection(info.raw, "Email"), keep=keep_body)
    if body_as is not None and "body" in fields:  # `text_of` tells a reply by its subject
        fields |= {"body_type"} if "Email.subject" in context.hidden else {"body_type", "subject"}
    try:
        message = await context.read_email(email_id, fields)
    except Missing as missing:
        raise no_email() from missing
    if keep_body and body_as is not None and message.body is not None:
        return await with_body_as(context, message, body_as, quoted=quoted is not False)
    if keep_body or message.body is None:
        return message
    return msgspec.structs.replace(message, body=None, body_type=None)  # another alias read it


@guarded(EmailOp.VIEW_EMAIL, shows=(EmailField.ATTACHMENTS,))
async def email_attachment(
    info: Info,
    email_id: Annotated[str, Argument(description="Provider-prefixed id of the message.")],
    attachment_id: Annotated[str, Argument(description="Its `id` in `Email.attachments`.")],
) -> EmailAttachment:
    """Find one attachment of a message, and make a link to its bytes."""
    context = info.context
    file = context.attachment = await _attachment(context, email_id, attachment_id)
    url = expires_at = None
    if context.attachment_link is not None:
        url, expires_at = context.attachment_link(email_id, attachment_id)
    known = file.attachment
    return EmailAttachment(
        id=known.id,
        name=known.name,
        content_type=known.content_type,
        size=known.size,
        is_inline=known.is_inline,
        download_url=url,
        expires_at=expires_at,
    )


@guarded(EmailOp.VIEW_EMAIL, shows=(EmailField.ATTACHMENTS,))
async def email_attachment_text(
    info: Info,
    email_id: Annotated[str, Argument(description="Provider-prefixed id of the message.")],
    attachment_id: Annotated[str, Argument(description="Its `id` in `Email.attachments`.")],
) -> FileText:
    """Read the text of one attachment of a message."""
    file = await _attachment(info.context, email_id, attachment_id)
    known = file.attachment
    kind = require_text(known.name, known.content_type)
    return await read_text(kind, known.content_type, file.open, size=known.size)


async def _attachment(context: Context, email_id: str, attachment_id: str) -> AttachmentFile:
    """
    Find an attachment; its bytes are not requested.

    Raises:
        Refusal: The token may not read attachments, or there is no such one.
    """
    context.caller.usable_connections(Surface.EMAIL)
    if context.caller.hides(EmailField.ATTACHMENTS):  # in every mask mode: bytes cannot be null
        raise FieldNotVisible("Reading an attachment", EmailField.ATTACHMENTS)
    if ids.split_mail_id(email_id) is None or not 0 < len(attachment_id) <= ids.MAX_ID_LENGTH:
        raise no_attachment()
    try:
        return await context.mail.attachment(email_id, attachment_id)
    except Missing as missing:
        raise no_attachment() from missing


@guarded(EmailOp.VIEW_THREAD)
async def email_thread(
    info: Info, thread_id: Annotated[str, Argument(description="Provider-prefixed id.")]
) -> Thread:
    """Read a conversation, oldest message first, with bodies."""
    context = info.context
    context.caller.usable_connections(Surface.EMAIL)
    if ids.split_mail_id(thread_id) is None:
        raise no_thread()
    try:
        thread = await context.loaders.thread(thread_id, projection(info.raw, "Email"))
    except Missing as missing:
        raise no_thread() from missing
    return visible_thread(thread, context)


def no_email() -> NotFound:
    """Return the one error for every unknown, malformed or unreachable message id."""
    return NotFound("No email with this id.")


def no_attachment() -> NotFound:
    """Return the one error for every unknown message, and attachment of a message."""
    return NotFound("No email with this id has an attachment with this id.")


def no_thread() -> NotFound:
    """Return the one error for every unknown, malformed or unreachable thread id."""
    return NotFound("No thread with this id.")


@lru_cache(maxsize=256)  # plans share few sets of fields; requests that wait share the result
def with_body(fields: frozenset[str], *, keep: bool | None) -> frozenset[str]:
    """Return *fields*, without those of the body unless *keep*."""
    return fields if keep else fields - _BODY


def _view(context: Context, page: MailPage, token: str | None) -> EmailPage:
    return EmailPage(
        emails=page.emails,
        total_count=page.total,
        total_count_exact=page.total_exact,
        has_more=page.has_more,
        next_page_token=token,
        access_info=context.caller.access_info(Surface.EMAIL),
        auth_warnings=warnings(context, Surface.EMAIL, page.warnings),
    )
