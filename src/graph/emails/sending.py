"""Checks the inputs of the sending mutations and converts them to the mail port's messages."""

import dataclasses
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from msgspec.structs import replace

from graph.context import Context
from graph.emails import attached_files, inputs
from graph.emails.enums import BodyType, Importance
from graph.emails.problems import Problems, unsafe
from policy.caller import Caller
from policy.gates import Connection
from policy.recipients import NO_NORMAL_FORM, Recipient, as_written
from policy.refusals import NotFound, ReadOnlyConnection
from policy.vocabulary import Code, EmailField, Surface
from providers.ports.mail import CheckRecipients, Draft, Forward, Reply, SendAttempt
from providers.records.mail import Participant

# docs/spec/email.md#send-validation
MAX_RECIPIENTS = 500
MAX_NAMES = 100_000  # characters of the names of all recipients

_SURROGATE = re.compile("[\ud800-\udfff]")

# Characters that end an address or begin a comment in a header (RFC 5322): after one of them a
# provider would read another recipient. A domain may be an address literal in brackets.
_SEPARATOR = re.compile(r"[()<>\[\],;:\\]")
_ADDRESS_LITERAL = re.compile(r"\[[A-Za-z0-9.:]+\]")


async def draft(
    written: inputs.SendEmailInput | inputs.CreateDraftInput,
    context: Context,
    *,
    hold: bool = False,
) -> Draft:
    """
    Check a new message, which is left as a draft with *hold*.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per problem.
    """
    problems = Problems()
    groups = [("to", written.to or []), ("cc", written.cc or []), ("bcc", written.bcc or [])]
    to, cc, bcc = checked_recipients(groups, problems, is_draft=hold)
    subject = written.subject or ""
    if unsafe(subject):
        problems.add("subject", "Line breaks and control characters are not allowed.")
    check_body(written.body, problems)
    files = await attached_files.read(written.attachments, problems, context)
    problems.raise_if_any()
    return Draft(
        to=to,
        cc=cc,
        bcc=bcc,
        subject=subject,
        body=written.body,
        body_type=(written.body_type or BodyType.HTML).value,
        importance=(written.importance or Importance.NORMAL).value,
        files=files,
        attempt=attempt(context, hold=hold),
    )


async def reply(
    written: inputs.ReplyEmailInput | inputs.CreateDraftInput,
    context: Context,
    *,
    hold: bool = False,
) -> Reply:
    """Check a reply; the original is quoted only if the caller may see its body."""
    problems = Problems()
    check_body(written.body, problems)
    files = await attached_files.read(written.attachments, problems, context)
    problems.raise_if_any()
    written_reply = Reply(
        body=written.body,
        body_type=(written.body_type or BodyType.HTML).value,
        reply_all=bool(written.reply_all),
        files=files,
        attempt=attempt(context, hold=hold),
    )
    return limited_reply(written_reply, context.caller)


def limited_reply(reply: Reply, caller: Caller) -> Reply:
    """Return *reply* so that it reveals nothing that *caller* may not see."""
    return dataclasses.replace(
        reply,
        quote=not (caller.strict and caller.hides(EmailField.BODY)),
        hidden=_hidden(caller),
        to_is_hidden=caller.hides(EmailField.TO) and (caller.strict or caller.limits_recipients),
        check_recipients=recipient_check(caller),
        attempt=attempt_of(caller, reply.attempt),
    )


async def forward(
    written: inputs.ForwardEmailInput | inputs.CreateDraftInput,
    context: Context,
    *,
    hold: bool = False,
) -> Forward:
    """Check the input of a forward."""
    problems = Problems()
    groups = [("to", written.to or []), ("cc", written.cc or [])]
    to, cc = checked_recipients(groups, problems, is_draft=hold)
    check_body(written.body or "", problems)
    files = await attached_files.read(written.attachments, problems, context)
    problems.raise_if_any()
    return Forward(
        to=to,
        cc=cc,
        body=written.body or "",
        body_type=(written.body_type or BodyType.HTML).value,
        hidden=_hidden(context.caller),
        files=files,
        attempt=attempt(context, hold=hold),
    )


def limited_forward(forward: Forward, caller: Caller) -> Forward:
    """Return *forward* so that its header block reveals nothing that *caller* may not see."""
    attempt = attempt_of(caller, forward.attempt)
    return replace(forward, hidden=_hidden(caller), attempt=attempt)


def recipient_check(caller: Caller) -> CheckRecipients | None:
    """Return the check of the derived recipients of a reply; None when it would allow all."""
    return partial(require_people, caller) if caller.limits_recipients else None


def require_people(caller: Caller, people: Sequence[Participant]) -> None:
    """Check that *caller* may write to derived recipients; raises `RecipientNotAllowed`."""
    caller.require_recipients(Recipient(person.email) for person in people)


def require_recipients(message: Draft | Forward, caller: Caller) -> None:
    """
    Check that the token may write to everyone that the caller named.

    Raises:
        RecipientNotAllowed: The recipient rules exclude one.
    """
    caller.require_recipients(named_recipients(message))


def _hidden(caller: Caller) -> frozenset[str]:
    """Return the attributes of the original that a quotation or forward leaves out."""
    if not caller.strict:
        return frozenset()
    return frozenset(attribute for field, attribute in _QUOTED.items() if caller.hides(field))


# Field that a provider's quotation may show of the original -> the record attribute.
_QUOTED: Mapping[EmailField, str] = MappingProxyType(
    {
        EmailField.SUBJECT: "subject",
        EmailField.FROM: "from_",
        EmailField.TO: "to",
        EmailField.CC: "cc",
        EmailField.BCC: "bcc",
        EmailField.SENT_AT: "sent_at",
        EmailField.RECEIVED_AT: "received_at",
        EmailField.IMPORTANCE: "importance",
    }
)


def sending_connection(
    connection_id: int | None, context: Context, check: Callable[[Caller], None]
) -> Connection:
    """
    Choose the connection that sends: *connection_id*, or the first that may write and *check* lets.

    Raises:
        NotFound: `CONNECTION_NOT_FOUND`: the token reaches no such email connection.
        NoUsableConnection: The chosen connection, or every connection, is inactive or excluded.
        ReadOnlyConnection: The chosen connection, or every usable one, has read scopes only.
        RecipientNotAllowed, OperationNotAllowed: No such connection may send it.
        AmbiguousAccount: The token must choose among several.
    """
    caller = context.caller
    if connection_id is not None and not any(
        connection.id == connection_id and connection.kind == Surface.EMAIL
        for connection in caller.connections
    ):
        raise NotFound(
            "This token has no email connection with this id.", code=Code.CONNECTION_NOT_FOUND
        )
    candidates = [
        connection
        for connection in caller.usable_connections(Surface.EMAIL)
        if connection_id in {None, connection.id}
    ]
    if not candidates:
        raise caller.no_usable_connection(Surface.EMAIL)
    writable = [connection for connection in candidates if connection.can_write]
    if not writable:
        raise ReadOnlyConnection
    admitted = caller.on_each(writable, check)
    writable = [each for each in writable if each.id in admitted]
    caller.require_one(writable)
    return writable[0]


def require_writable(context: Context) -> None:
    """
    Check that a message can be sent at all.

    Raises:
        ReadOnlyConnection: Every usable connection has read scopes only.
    """
    if not any(
        connection.can_write for connection in context.caller.usable_connections(Surface.EMAIL)
    ):
        raise ReadOnlyConnection


def path_of_address(address: str, message: Draft | Forward | None) -> str | None:
    """Return the path of the recipient of *message* with this address: `to[0].email`."""
    recipients = named_recipients(message) if message is not None else ()
    return next((recipient.path for recipient in recipients if recipient.address == address), None)


def named_recipients(message: object) -> Iterator[Recipient]:
    """Yield the recipients that the caller named, with their paths."""
    for group in ("to", "cc", "bcc"):
        for index, person in enumerate(getattr(message, group, None) or ()):
            yield Recipient(person.email, f"{group}[{index}].email")


def checked_recipients(
    groups: Sequence[tuple[str, Sequence[inputs.ParticipantInput]]],
    problems: Problems,
    *,
    is_draft: bool = False,
) -> list[tuple[Participant, ...]]:
    """Return recipients by header, the first of which needs some unless it is of a draft."""
    if not groups[0][1] and not is_draft:
        problems.add("to", "At least one recipient is required.")
    if sum(len(people) for _, people in groups) > MAX_RECIPIENTS:
        problems.add("to", f"At most {MAX_RECIPIENTS} recipients are allowed, cc and bcc included.")
        problems.raise_if_any()
    _check_length_of_names(groups, problems)
    return [
        tuple(
            _participant(person, f"{name}[{index}]", problems)
            for index, person in enumerate(people)
        )
        for name, people in groups
    ]


def _check_length_of_names(
    groups: Sequence[tuple[str, Sequence[inputs.ParticipantInput]]], problems: Problems
) -> None:
    """Raise at the first name that is too much; writing long names into headers is costly."""
    characters = 0
    for group, people in groups:
        for index, person in enumerate(people):
            characters += len(person.name or "")
            if characters > MAX_NAMES:
                problems.add(
                    f"{group}[{index}].name",
                    f"The names of all recipients together have at most {MAX_NAMES:,} characters.",
                )
                problems.raise_if_any()


def _participant(person: inputs.ParticipantInput, path: str, problems: Problems) -> Participant:
    wrong = list(_address_problems(person.email))
    address = None if wrong else as_written(person.email)
    if not wrong and address is None:
        wrong = [NO_NORMAL_FORM]
    for message in wrong:
        problems.add(f"{path}.email", message)
    if person.name is not None and unsafe(person.name):
        problems.add(f"{path}.name", "Line breaks and control characters are not allowed.")
    return Participant(email=address or person.email, name=person.name)


def _address_problems(address: str) -> Iterable[str]:
    local, at, domain = address.partition("@")
    if not (local and at and domain) or "@" in domain:
        yield "An address has exactly one @, with text on both sides."
    if _SEPARATOR.search(local) or (
        _SEPARATOR.search(domain) and not _ADDRESS_LITERAL.fullmatch(domain)
    ):
        yield "Commas, brackets and other separators are not allowed."
    if unsafe(address) or "".join(address.split()) != address:
        yield "Spaces and control characters are not allowed."


def check_body(body: str, problems: Problems) -> None:
    """Add what is wrong with a text to *problems*."""
    if _SURROGATE.search(body):
        problems.add("body", "It contains a lone surrogate, which is not a character.")


def attempt(context: Context, *, hold: bool = False) -> SendAttempt:
    """Return the attempt of a send, which leaves a draft if the token sends so, or with *hold*."""
    own = context.delivery or SendAttempt(message_id=secrets.token_hex(16))
    context.held = hold or context.caller.holds_mail
    return _held(own) if context.held else own


def attempt_of(caller: Caller, attempt: SendAttempt) -> SendAttempt:
    """Return *attempt* as one that is held, if *caller* holds mail."""
    return _held(attempt) if caller.holds_mail and not attempt.hold else attempt


def _held(attempt: SendAttempt) -> SendAttempt:
    name = attempt.held_id or attempt.message_id
    return dataclasses.replace(attempt, hold=True, message_id=name, earlier_ids=())
