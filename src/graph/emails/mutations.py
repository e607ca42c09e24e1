"""Root mutations of the email surface: send, reply, forward, delete, modify."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Annotated, TypeVar

import strawberry

from graph.context import Info
from graph.emails import admission, inputs, previews, sending
from graph.emails.problems import unsafe
from graph.emails.queries import no_email
from graph.emails.types import EmailActionResult
from graph.masking.guards import guarded
from policy.caller import Caller
from policy.refusals import (
    Conflict,
    Detail,
    FieldNotVisible,
    InvalidInput,
    NotFound,
    OperationNotAllowed,
    ReadOnlyConnection,
)
from policy.vocabulary import Code, EmailField, EmailOp, SendMode, Surface
from providers import failures
from providers.mail.delivery import failure_of_change
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports import mail
from providers.records.mail import SentMessage
from providers.search_text import fold_label
from providers.write_previews import Resource

MAX_LABELS = 50  # per list; docs/spec/email.md#label-rules

_TOO_LARGE = "The message is larger than the provider of this account allows."
_UNWRITABLE = "The provider of this account cannot send to this address."

Result = TypeVar("Result")
EmailId = Annotated[str, strawberry.argument(description="Provider-prefixed id.")]


@guarded(EmailOp.SEND_EMAIL)
async def send_email(
    info: Info,
    written: Annotated[
        inputs.SendEmailInput, strawberry.argument(name="input", description="The message.")
    ],
) -> EmailActionResult:
    """Send a new message."""
    draft = await sending.draft(written, info.context)
    connection = sending.sending_connection(
        written.connection_id, info.context, lambda it: admission.require_send(it, draft)
    )
    previews.describe_draft(draft)
    sent = await translate_send_failures(info.context.mail.send(connection.id, draft), draft)
    info.context.held = sent.held
    return done(sent)


@guarded(
    EmailOp.REPLY_TO_EMAIL,
    revealing={"replyAll": admission.ALL_ANSWERED},
    reveals=(EmailField.FROM,),
)
async def reply_to_email(
    info: Info,
    email_id: EmailId,
    written: Annotated[
        inputs.ReplyEmailInput, strawberry.argument(name="input", description="The reply.")
    ],
) -> EmailActionResult:
    """Reply to a message from the account that received it; recipients must be visible."""
    reply = await sending.reply(written, info.context)
    return await deliver_reply(info, info.context.mail, email_id, reply, (EmailOp.REPLY_TO_EMAIL,))


@guarded(EmailOp.FORWARD_EMAIL, reveals=admission.FORWARDED)
async def forward_email(
    info: Info,
    email_id: EmailId,
    written: Annotated[
        inputs.ForwardEmailInput,
        strawberry.argument(name="input", description="To whom, and what to say first."),
    ],
) -> EmailActionResult:
    """Forward a message with its attachments; refused when these or the body are masked."""
    forward = await sending.forward(written, info.context)
    operations = (EmailOp.FORWARD_EMAIL,)
    return await deliver_forward(info, info.context.mail, email_id, forward, operations)


async def deliver_reply(
    info: Info,
    mailbox: MergedMailbox,
    email_id: str,
    reply: mail.Reply,
    operations: Sequence[EmailOp],
) -> EmailActionResult:
    """Send a checked reply, or leave it as a draft, where the account allows *operations*."""
    sending.require_writable(info.context)
    admission.require_account(
        info,
        email_id,
        no_email,
        lambda it: admission.require_reply(it, reply_all=reply.reply_all, operations=operations),
    )
    previews.describe_reply(email_id, reply)
    sent = await translate_send_failures(mailbox.reply(email_id, reply))
    info.context.held = sent.held
    return done(sent)


async def deliver_forward(
    info: Info,
    mailbox: MergedMailbox,
    email_id: str,
    forward: mail.Forward,
    operations: Sequence[EmailOp],
) -> EmailActionResult:
    """Send a checked forward, as `deliver_reply`."""
    sending.require_writable(info.context)
    admission.require_account(
        info, email_id, no_email, lambda it: admission.require_forward(it, forward, operations)
    )
    previews.describe_forward(email_id, forward)
    sent = await translate_send_failures(mailbox.forward(email_id, forward), forward)
    info.context.held = sent.held
    return done(sent)


@guarded(EmailOp.DELETE_EMAIL)
async def delete_email(info: Info, email_id: EmailId) -> EmailActionResult:
    """Move a message to the trash, from which it can be recovered."""
    info.context.caller.usable_connections(Surface.EMAIL)
    admission.require_account(
        info, email_id, no_email, lambda it: it.admit(Surface.EMAIL, EmailOp.DELETE_EMAIL)
    )
    previews.describe_change(email_id, destination=Resource(kind="trash"))
    await _translate_change_failures(info.context.mail.trash(email_id))
    return EmailActionResult(email_id=email_id)


def _needed(wanted: inputs.ModifyEmailInput) -> list[EmailOp]:
    needed = []
    if wanted.mark_as_read is not None:
        needed.append(EmailOp.MARK_AS_READ)
    if wanted.add_labels is not None or wanted.remove_labels is not None:
        needed.append(EmailOp.APPLY_LABELS)
    return needed


@guarded(
    EmailOp.MARK_AS_READ,
    EmailOp.APPLY_LABELS,
    member_operations={
        "markAsRead": EmailOp.MARK_AS_READ,
        "addLabels": EmailOp.APPLY_LABELS,
        "removeLabels": EmailOp.APPLY_LABELS,
    },
)
async def modify_email(
    info: Info,
    email_id: EmailId,
    wanted: Annotated[
        inputs.ModifyEmailInput, strawberry.argument(name="input", description="What to change.")
    ],
) -> EmailActionResult:
    """Change read state, then labels. Every needed operation is checked before anything changes."""
    _require_operations(wanted, info.context.caller)
    change = _change(wanted)
    info.context.caller.usable_connections(Surface.EMAIL)
    admission.require_account(info, email_id, no_email, lambda it: _require_operations(wanted, it))
    previews.describe_change(email_id)
    return done(await _translate_change_failures(info.context.mail.change(email_id, change)))


def _require_operations(wanted: inputs.ModifyEmailInput, caller: Caller) -> None:
    needed = _needed(wanted)
    for operation in needed:
        if not caller.allows(operation):
            raise OperationNotAllowed(operation)
    if not needed:
        raise InvalidInput(
            "At least one of markAsRead, addLabels and removeLabels is required.",
            code=Code.VALIDATION_ERROR,
            details=[Detail("input", "It must have at least one of these members.")],
        )


def _change(wanted: inputs.ModifyEmailInput) -> mail.MailChange:
    add, remove = wanted.add_labels or [], wanted.remove_labels or []
    details = [*_label_problems("addLabels", add), *_label_problems("removeLabels", remove)]
    added, removed = _distinct(add), _distinct(remove)
    if added.keys() & removed.keys():
        details.append(Detail("removeLabels", "A label cannot be added and removed at once."))
    if details:
        message = f"{details[0].field}: {details[0].message}"
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details)
    return mail.MailChange(
        read=wanted.mark_as_read,
        add_labels=tuple(added.values()),
        remove_labels=tuple(removed.values()),
    )


def _distinct(labels: Iterable[str]) -> dict[str, str]:
    """Return the labels by their folded names; the first of equal ones stays."""
    distinct: dict[str, str] = {}
    for label in labels:
        distinct.setdefault(fold_label(label), label)
    return distinct


def _label_problems(name: str, labels: list[str]) -> list[Detail]:
    if len(labels) > MAX_LABELS:
        return [Detail(name, f"At most {MAX_LABELS} labels are allowed.")]
    return [
        Detail(
            f"{name}[{index}]", "A label has a character that is shown, and no control characters."
        )
        for index, label in enumerate(labels)
        if not fold_label(label) or unsafe(label)
    ]


async def translate_send_failures(
    call: Awaitable[Result], message: mail.Draft | mail.Forward | None = None
) -> Result:
    """
    Await a send; convert its failures to the errors of docs/spec/email.md#provider-rejection.

    *message* has the recipients that the caller named.
    """
    try:
        return await call
    except failures.Missing as missing:
        raise no_email() from missing
    except mail.ReadOnlyMailbox as problem:
        raise ReadOnlyConnection from problem
    except mail.NoReplyRecipient as problem:
        raise _unsendable(
            "The reply would have no recipient besides the sending account."
        ) from problem
    except mail.HiddenReplyRecipients as problem:
        raise FieldNotVisible("Replying", EmailField.TO) from problem
    except mail.UnsafeMessage as problem:
        recipient = problem.address and sending.path_of_address(problem.address, message)
        if recipient:
            raise _unsendable(_UNWRITABLE, recipient) from problem
        raise _unsendable("The message cannot be encoded safely.") from problem
    except (
        failures.OutcomeUnknown,
        failures.NotAccepted,
        failures.OutOfSpace,
        failures.ReadOnlyGrant,
    ):
        raise
    except failures.Refused as problem:
        if problem.status == 413:
            raise Conflict(_TOO_LARGE, code=Code.PAYLOAD_TOO_LARGE) from problem
        raise failures.ProviderFailure("The provider did not accept the message.") from problem


async def _translate_change_failures(call: Awaitable[Result]) -> Result:
    """
    Await a change or deletion; failures other than 429 and a timeout become 404.

    See docs/spec/email.md#change-and-delete-failures.
    """
    try:
        return await call
    except (failures.Throttled, failures.TimedOut):
        raise
    except mail.ReadOnlyMailbox as failure:
        raise NotFound("The mailbox of this email may only be read.") from failure
    except failures.ProviderFailure as failure:
        reported = failure_of_change(failure)
        if isinstance(reported, failures.Impossible):
            raise NotFound(reported.message) from failure
        raise no_email() from failure


def _unsendable(message: str, path: str | None = None) -> InvalidInput:
    if path is None:
        return InvalidInput(message, code=Code.VALIDATION_ERROR)
    return InvalidInput(
        f"{path}: {message}", code=Code.VALIDATION_ERROR, details=[Detail(path, message)]
    )


def done(sent: SentMessage) -> EmailActionResult:
    """Report success with the ids that are known."""
    held = SendMode.DRAFT.value if sent.held else None
    return EmailActionResult(email_id=sent.email_id, thread_id=sent.thread_id, held=held)
