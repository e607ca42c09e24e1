"""Checks the inputs of the sending mutations and converts them to the mail port's messages."""

import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from graph.context import Context, Delivery
from graph.emails import inputs
from graph.emails.enums import BodyType, Importance
from policy.caller import Caller
from policy.gates import Connection
from policy.refusals import Detail, InvalidInput, NotFound, NoUsableConnection, ReadOnlyConnection
from policy.vocabulary import Code, EmailField, Surface
from providers.ports.mail import Draft, Forward, Reply
from providers.records.mail import Participant

# docs/spec/email.md#send-validation
MAX_RECIPIENTS = 500
MAX_ADDRESS = 320  # characters
MAX_SUBJECT = 998  # characters; the longest line of RFC 5322

_LINE_BREAKS = "\u2028\u2029"

# Characters that end an address or begin a comment in a header (RFC 5322): after one of them a
# provider would read another recipient. A domain may be an address literal in brackets.
_SEPARATOR = re.compile(r"[()<>\[\],;:\\]")
_ADDRESS_LITERAL = re.compile(r"\[[A-Za-z0-9.:]+\]")


@dataclass(slots=True)
class _Problems:
    """The problems of an input, which are reported together."""

    details: list[Detail] = field(default_factory=list)

    def add(self, path: str, message: str) -> None:
        self.details.append(Detail(path, message))

    def raise_if_any(self) -> None:
        if self.details:
            message = f"{self.details[0].field}: {self.details[0].message}"
            raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=self.details)


def draft(written: inputs.SendEmailInput, context: Context) -> Draft:
    """
    Check a new message.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per problem.
    """
    problems = _Problems()
    groups = [("to", written.to), ("cc", written.cc or []), ("bcc", written.bcc or [])]
    to, cc, bcc = _recipients(groups, problems)
    if len(written.subject) > MAX_SUBJECT:
        problems.add("subject", f"It may have at most {MAX_SUBJECT} characters.")
    if unsafe(written.subject):
        problems.add("subject", "Line breaks and control characters are not allowed.")
    _check_body(written.body, problems)
    problems.raise_if_any()
    delivery = _delivery(context)
    return Draft(
        to=to,
        cc=cc,
        bcc=bcc,
        subject=written.subject,
        body=written.body,
        body_type=(written.body_type or BodyType.HTML).value,
        importance=(written.importance or Importance.NORMAL).value,
        message_id=delivery.message_id,
        maybe_sent=delivery.maybe_sent,
    )


def reply(written: inputs.ReplyEmailInput, context: Context) -> Reply:
    """Check a reply; the original is quoted only if the caller may see its body."""
    problems = _Problems()
    _check_body(written.body, problems)
    problems.raise_if_any()
    delivery = _delivery(context)
    caller = context.caller
    return Reply(
        body=written.body,
        body_type=(written.body_type or BodyType.HTML).value,
        reply_all=bool(written.reply_all),
        quote=not (caller.strict and caller.hides(EmailField.BODY)),
        hidden=_hidden(caller),
        message_id=delivery.message_id,
        maybe_sent=delivery.maybe_sent,
    )


def forward(written: inputs.ForwardEmailInput, context: Context) -> Forward:
    """Check the input of a forward."""
    problems = _Problems()
    to, cc = _recipients([("to", written.to), ("cc", written.cc or [])], problems)
    _check_body(written.body or "", problems)
    problems.raise_if_any()
    delivery = _delivery(context)
    return Forward(
        to=to,
        cc=cc,
        body=written.body or "",
        body_type=(written.body_type or BodyType.HTML).value,
        hidden=_hidden(context.caller),
        message_id=delivery.message_id,
        maybe_sent=delivery.maybe_sent,
    )


def _hidden(caller: Caller) -> frozenset[str]:
    """Return the attributes of the original that a quotation or forward leaves out."""
    if not caller.strict:
        return frozenset()
    return frozenset(attribute for field, attribute in _QUOTED.items() if caller.hides(field))


# Field that a quotation or forward shows of the original -> the record attribute.
_QUOTED: Mapping[EmailField, str] = MappingProxyType(
    {
        EmailField.SUBJECT: "subject",
        EmailField.FROM: "from_",
        EmailField.TO: "to",
        EmailField.CC: "cc",
        EmailField.SENT_AT: "sent_at",
    }
)


def sending_connection(connection_id: int | None, context: Context) -> Connection:
    """
    Choose the sending connection: *connection_id*, or the first connection that may write.

    Raises:
        NotFound: `CONNECTION_NOT_FOUND`: the token's resources have no such email connection.
        NoUsableConnection: The chosen connection, or every connection, is inactive or excluded.
        ReadOnlyConnection: The chosen connection, or every usable one, has read scopes only.
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
        raise NoUsableConnection(Surface.EMAIL)
    writable = [connection for connection in candidates if connection.can_write]
    if not writable:
        raise ReadOnlyConnection
    return writable[0]


def unsafe(text: str) -> bool:
    """Say whether *text* could end or forge a header line, or cannot be encoded at all."""
    return any(
        unicodedata.category(character) in {"Cc", "Cs"} or character in _LINE_BREAKS
        for character in text
    )


def _recipients(
    groups: Sequence[tuple[str, Sequence[inputs.ParticipantInput]]], problems: _Problems
) -> list[tuple[Participant, ...]]:
    if not groups[0][1]:
        problems.add("to", "At least one recipient is required.")
    if sum(len(people) for _, people in groups) > MAX_RECIPIENTS:
        problems.add("to", f"At most {MAX_RECIPIENTS} recipients are allowed, cc and bcc included.")
        problems.raise_if_any()
    return [
        tuple(
            _participant(person, f"{name}[{index}]", problems)
            for index, person in enumerate(people)
        )
        for name, people in groups
    ]


def _participant(person: inputs.ParticipantInput, path: str, problems: _Problems) -> Participant:
    for message in _address_problems(person.email):
        problems.add(f"{path}.email", message)
    if person.name is not None and unsafe(person.name):
        problems.add(f"{path}.name", "Line breaks and control characters are not allowed.")
    return Participant(email=person.email, name=person.name)


def _address_problems(address: str) -> Iterable[str]:
    local, at, domain = address.partition("@")
    if not (local and at and domain) or "@" in domain:
        yield "An address has exactly one @, with text on both sides."
    if _SEPARATOR.search(local) or (
        _SEPARATOR.search(domain) and not _ADDRESS_LITERAL.fullmatch(domain)
    ):
        yield "Commas, brackets and other separators are not allowed."
    if len(address) > MAX_ADDRESS:
        yield f"An address has at most {MAX_ADDRESS} characters."
    if unsafe(address) or any(character.isspace() for character in address):
        yield "Blanks and control characters are not allowed."


def _check_body(body: str, problems: _Problems) -> None:
    if any(unicodedata.category(character) == "Cs" for character in body):
        problems.add("body", "It holds half of a character (a lone surrogate).")


def _delivery(context: Context) -> Delivery:
    return context.delivery or Delivery(f"{secrets.token_hex(16)}@access-gateway.invalid")
