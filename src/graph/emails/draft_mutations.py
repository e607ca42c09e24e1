"""Root mutations of drafts: create, update, delete, send (docs/spec/drafts.md)."""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Annotated, TypeVar

import strawberry
from strawberry.utils.str_converters import to_camel_case

from graph.context import Context, Info
from graph.emails import admission, attached_files, draft_versions, inputs, previews, sending
from graph.emails.draft_versions import SeenVersion
from graph.emails.drafts import DraftId, no_draft
from graph.emails.enums import BodyType
from graph.emails.mutations import deliver_forward, deliver_reply, done, translate_send_failures
from graph.emails.problems import Problems, unsafe
from graph.emails.types import DraftActionResult, EmailActionResult
from graph.execution.if_match import IfMatch, parse_if_match
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.recipients import Recipient
from policy.refusals import Conflict, InvalidInput, NotFound, ReadOnlyConnection
from policy.vocabulary import Code, EmailField, EmailOp, Surface
from providers import failures
from providers.mail.drafts.merged_drafts import Compared, DraftChanged, MergedDrafts
from providers.ports.drafts import DraftChange
from providers.ports.mail import CheckRecipients, ReadOnlyMailbox, SendAttempt, UnsafeMessage
from providers.records.mail import Participant
from providers.write_previews import Resource

MAX_REMOVED = 50
T = TypeVar("T")


@guarded(
    EmailOp.WRITE_DRAFTS, revealing=dict.fromkeys(("to", "cc", "bcc"), admission.READ_BY_RECIPIENTS)
)
async def update_draft(
    info: Info,
    draft_id: DraftId,
    written: Annotated[
        inputs.UpdateDraftInput, strawberry.argument(name="input", description="What to change.")
    ],
    *,
    if_match: IfMatch = None,
) -> DraftActionResult:
    """Change the named members of a draft and no other."""
    context = info.context
    change = await _change(written, context)
    seen = _seen(if_match)
    sending.require_writable(context)
    admission.require_account(
        info, draft_id, no_draft, lambda it: admission.require_draft_change(it, change)
    )
    if change.files:  # which a second time would attach again
        context.refuse_uncertain_retry()
    previews.describe_draft_change(draft_id, change.files)
    check = sending.recipient_check(context.caller)
    drafts = MergedDrafts(context.mail_of_drafts(EmailOp.WRITE_DRAFTS))
    write = drafts.update(draft_id, change, _native(seen), check, _compared(context, seen))
    draft = await _translate_failures(write, context, seen)
    version = draft_versions.after_change(context, seen, draft.id, draft.version, change)
    return DraftActionResult(draft_id=draft.id, version=version, email_id=draft.message_id)


@guarded(EmailOp.WRITE_DRAFTS)
async def delete_draft(
    info: Info, draft_id: DraftId, *, if_match: IfMatch = None
) -> DraftActionResult:
    """Move a draft to the trash, from which it can be recovered."""
    context, seen = info.context, _seen(if_match)
    context.caller.usable_connections(Surface.EMAIL)
    admission.require_account(info, draft_id, no_draft, admission.require_draft_writes)
    previews.describe_draft_change(draft_id, destination=Resource(kind="trash"))
    drafts = MergedDrafts(context.mail_of_drafts(EmailOp.WRITE_DRAFTS))
    write = drafts.trash(draft_id, _native(seen), _compared(context, seen))
    await _translate_failures(write, context, seen)
    return DraftActionResult(draft_id=draft_id)


@guarded(EmailOp.SEND_EMAIL)
async def send_draft(
    info: Info, draft_id: DraftId, *, if_match: IfMatch = None
) -> EmailActionResult:
    """Send a draft as it is."""
    context, seen = info.context, _seen(if_match)
    attempt = sending.attempt(context)
    sending.require_writable(context)
    admission.require_account(info, draft_id, no_draft, admission.require_sent_draft)
    previews.describe_sent_draft(draft_id, attempt)
    drafts = MergedDrafts(context.mail_of_drafts(EmailOp.SEND_EMAIL))

    def on(connection: int) -> tuple[SendAttempt, CheckRecipients]:
        account = context.caller.on(connection)
        return sending.attempt_of(account, attempt), _check_sent(account)

    write = drafts.send(draft_id, attempt, _native(seen), on, _compared(context, seen))
    sent = await _translate_failures(write, context, seen)
    context.held = sent.held
    return done(sent)


@guarded(
    EmailOp.WRITE_DRAFTS,
    further_operations={"replyTo": EmailOp.VIEW_EMAIL, "forwardOf": EmailOp.VIEW_EMAIL},
    revealing={
        "replyTo": (EmailField.FROM,),
        "replyAll": admission.ALL_ANSWERED,
        "forwardOf": admission.FORWARDED,
    },
)
async def create_draft(
    info: Info,
    written: Annotated[
        inputs.CreateDraftInput, strawberry.argument(name="input", description="The message.")
    ],
) -> EmailActionResult:
    """Leave a new message, a reply or a forward as a draft for a person to send."""
    context = info.context
    _require_members_of_kind(written)
    mailbox = context.mail_of_drafts(EmailOp.WRITE_DRAFTS)
    if written.reply_to is not None:
        reply = await sending.reply(written, context, hold=True)
        return await deliver_reply(info, mailbox, written.reply_to, reply, admission.OF_DRAFTS)
    if written.forward_of is not None:
        forward = await sending.forward(written, context, hold=True)
        return await deliver_forward(
            info, mailbox, written.forward_of, forward, admission.OF_DRAFTS
        )
    draft = await sending.draft(written, context, hold=True)
    operation = EmailOp.WRITE_DRAFTS
    connection = sending.sending_connection(
        written.connection_id, context, lambda it: admission.require_send(it, draft, operation)
    )
    previews.describe_draft(draft)
    sent = await translate_send_failures(mailbox.send(connection.id, draft), draft)
    context.held = sent.held
    return done(sent)


def _require_members_of_kind(written: inputs.CreateDraftInput) -> None:
    """
    Check that a draft has no members of another kind of draft.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per problem.
    """
    new_only = ("bcc", "subject", "importance", "connection_id")
    others: tuple[str, ...] = ("reply_all",)
    kind = "a new message"
    if written.reply_to is not None:
        others, kind = ("to", "cc", *new_only, "forward_of"), "a reply"
    elif written.forward_of is not None:
        others, kind = (*new_only, "reply_all"), "a forward"
    problems = Problems()
    for name in others:
        if getattr(written, name) is not None:
            problems.add(to_camel_case(name), f"A draft of {kind} does not have it.")
    problems.raise_if_any()


def _check_sent(caller: Caller) -> CheckRecipients:
    """Return the check of the recipients of a draft that is sent."""

    def check(people: Sequence[Participant]) -> None:
        if not people:
            message = "The draft has no recipient."
            raise InvalidInput(message, code=Code.VALIDATION_ERROR)
        caller.require_recipients(Recipient(person.email) for person in people)

    return check


async def _change(written: inputs.UpdateDraftInput, context: Context) -> DraftChange:
    """
    Check the input of a change.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per problem.
    """
    problems = Problems()
    groups = [("to", written.to), ("cc", written.cc), ("bcc", written.bcc)]
    named = [(name, people) for name, people in groups if people is not None]
    people = sending.checked_recipients(named or [("to", [])], problems, is_draft=True)
    if written.subject is not None and unsafe(written.subject):
        problems.add("subject", "Line breaks and control characters are not allowed.")
    sending.check_body(written.body or "", problems)
    removed = written.remove_attachments or []
    if len(removed) > MAX_REMOVED:
        problems.add("removeAttachments", f"At most {MAX_REMOVED} ids are allowed.")
    files = await attached_files.read(written.add_attachments, problems, context)
    problems.raise_if_any()
    change = DraftChange(
        **dict(zip((name for name, _ in named), people, strict=False)),
        subject=written.subject,
        body=written.body,
        body_type=(written.body_type or BodyType.HTML).value,
        importance=None if written.importance is None else written.importance.value,
        files=files,
        removed=tuple(dict.fromkeys(removed)),
    )
    if change == DraftChange(body_type=change.body_type):
        problems.add("input", "It must have at least one member.")
        problems.raise_if_any()
    return change


def _seen(if_match: str | None) -> SeenVersion | None:
    """Return the version in an `If-Match`, which a header has in quotation marks."""
    tag = parse_if_match(if_match)
    return None if tag is None else SeenVersion.parse(tag.removeprefix("W/").strip('"'))


def _native(seen: SeenVersion | None) -> str | None:
    return None if seen is None else seen.version


def _compared(context: Context, seen: SeenVersion | None) -> Compared:
    return partial(draft_versions.compared, context, seen)


async def _translate_failures(call: Awaitable[T], context: Context, seen: SeenVersion | None) -> T:
    """Await a write; convert its failures to the errors of docs/spec/drafts.md#refusals."""
    try:
        return await call
    except ReadOnlyMailbox as problem:
        raise ReadOnlyConnection from problem
    except UnsafeMessage as problem:
        message = "The draft cannot be encoded safely."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR) from problem
    except failures.Impossible as problem:
        raise NotFound(problem.message) from problem
    except failures.Missing as missing:
        raise no_draft() from missing
    except DraftChanged as changed:
        raise draft_versions.refusal(context, seen, changed) from changed
    except failures.Refused as problem:
        if problem.status == 413:
            message = "The draft is larger than the provider of this account allows."
            raise Conflict(message, code=Code.PAYLOAD_TOO_LARGE) from problem
        raise
