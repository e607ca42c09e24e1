"""
Checks of calls about mail by a caller, or by the accounts that may hold what the call is about.

A check takes the caller as an account narrows it (docs/spec/tokens.md#rights-per-account).
"""

from collections.abc import Callable, Sequence

from graph.context import Info
from graph.emails import sending
from policy.caller import Caller
from policy.refusals import NotFound
from policy.vocabulary import EmailField, EmailOp, Surface
from providers import ids
from providers.ports.drafts import DraftChange
from providers.ports.mail import Draft, Forward, MailChange

# A forward sends these to any address (docs/spec/email.md#forwards-with-hidden-fields).
FORWARDED = (EmailField.BODY, EmailField.ATTACHMENTS)

# The recipients of a reply to all (docs/spec/email.md#replies-with-hidden-fields).
ALL_ANSWERED = (EmailField.FROM, EmailField.TO, EmailField.CC)

# What a draft of a reply or forward needs, which shows its original.
OF_DRAFTS = (EmailOp.WRITE_DRAFTS, EmailOp.VIEW_EMAIL)

_RECIPIENTS = (EmailField.TO, EmailField.CC, EmailField.BCC)

# Who is added to the recipients of a draft will read these (docs/spec/drafts.md#hidden-fields).
READ_BY_RECIPIENTS = (
    EmailField.SUBJECT,
    EmailField.TO,
    EmailField.CC,
    EmailField.BODY,
    EmailField.ATTACHMENTS,
)


def require_send(caller: Caller, draft: Draft, operation: EmailOp = EmailOp.SEND_EMAIL) -> None:
    """
    Check that *caller* may send a new message, or leave it as a draft.

    Raises:
        Refusal: The operation or a recipient is not allowed.
    """
    caller.admit(Surface.EMAIL, operation)
    sending.require_recipients(draft, caller)


def require_sent_draft(caller: Caller) -> None:
    """Check that *caller* may send a draft as it is; raises as `require_reply`."""
    caller.admit(Surface.EMAIL, EmailOp.SEND_EMAIL)
    caller.require_visible_recipients("Sending a draft", *_RECIPIENTS)


def require_reply(
    caller: Caller, *, reply_all: bool, operations: Sequence[EmailOp] = (EmailOp.REPLY_TO_EMAIL,)
) -> None:
    """
    Check that *caller* may reply, and see the fields whose people get the reply.

    *operations* are all needed: `OF_DRAFTS` where the reply is left as a draft.

    Raises:
        Refusal: The operation is not allowed, or a field is hidden.
    """
    for operation in operations:
        caller.admit(Surface.EMAIL, operation)
    if reply_all:
        caller.require_visible_recipients("Replying to all", *ALL_ANSWERED)
    caller.require_visible_recipients("Replying", EmailField.FROM)


def require_forward(
    caller: Caller, forward: Forward, operations: Sequence[EmailOp] = (EmailOp.FORWARD_EMAIL,)
) -> None:
    """
    Check that *caller* may forward, and see what is forwarded; *operations* as of `require_reply`.

    Raises:
        Refusal: The operation or a recipient is not allowed, or a field is hidden.
    """
    for operation in operations:
        caller.admit(Surface.EMAIL, operation)
    caller.require_visible("Forwarding", *FORWARDED)
    sending.require_recipients(forward, caller)


def require_draft_writes(caller: Caller) -> None:
    """Check that *caller* may change drafts; raises `OperationNotAllowed`."""
    caller.admit(Surface.EMAIL, EmailOp.WRITE_DRAFTS)


def require_draft_change(caller: Caller, change: DraftChange) -> None:
    """
    Check that *caller* may change drafts, and write to the recipients that a change names.

    Raises:
        OperationNotAllowed, RecipientNotAllowed: The operation or a recipient is not allowed.
        FieldNotVisible: They would read what the token may not see, or the rules would tell hidden
            recipients.
    """
    require_draft_writes(caller)
    if any(getattr(change, name.value) is not None for name in _RECIPIENTS):
        caller.require_visible("Changing the recipients of a draft", *READ_BY_RECIPIENTS)
    caller.require_visible_recipients("Changing a draft", *_RECIPIENTS)
    caller.require_recipients(sending.named_recipients(change))


def require_account(
    info: Info, mail_id: str, missing: Callable[[], NotFound], check: Callable[[Caller], None]
) -> None:
    """
    Check a call about one message, for the token and for the accounts that may hold the message.

    Raises:
        Refusal: The token or all of these accounts are refused, or no id is like this.
    """
    caller, parts = info.context.caller, ids.split_mail_id(mail_id)
    if not caller.grant.accounts:
        check(caller)
    if parts is None:
        raise missing()
    caller.require_any(Surface.EMAIL, check, provider=parts[0])


def operations_of(change: MailChange) -> list[EmailOp]:
    """Return the operations that a change of a message needs."""
    labels = change.add_labels or change.remove_labels
    read = [] if change.read is None else [EmailOp.MARK_AS_READ]
    return [*read, *([EmailOp.APPLY_LABELS] if labels else [])]
