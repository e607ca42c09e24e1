"""From the inputs of the sending mutations to what a mailbox takes. Source: decisions 5.6, 16."""

import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from graph.context import Context, Delivery
from graph.emails.enums import BodyType, Importance
from graph.emails.inputs import (
    ForwardEmailInput,
    ParticipantInput,
    ReplyEmailInput,
    SendEmailInput,
)
from policy.caller import Caller
from policy.gates import Connection
from policy.refusals import Detail, InvalidInput, NotFound, NoUsableConnection, ReadOnlyConnection
from policy.vocabulary import Code, EmailField, Surface
from providers.ports.mail import Draft, Forward, Reply
from providers.records.mail import Participant

MAX_RECIPIENTS = 500  # decisions 5.6
MAX_ADDRESS = 320  # characters; decisions 5.6
MAX_SUBJECT = 998  # characters; decisions 5.6, the longest line of RFC 5322

_LINE_BREAKS = "\u2028\u2029"

# What ends an address or begins a comment in a header (RFC 5322): behind it a provider would read
# another recipient than the caller named. A domain may be a number in brackets.
_SEPARATOR = re.compile(r"[()<>\[\],;:\\]")
_NUMBER = re.compile(r"\[[A-Za-z0-9.:]+\]")


@dataclass(slots=True)
class _Findings:
    """Everything that is wrong with a body, so that one answer tells it all."""

    details: list[Detail] = field(default_factory=list)

    def add(self, place: str, message: str) -> None:
        self.details.append(Detail(place, message))

    def settle(self) -> None:
        if self.details:
            message = f"{self.details[0].field}: {self.details[0].message}"
            raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=self.details)


def draft(written: SendEmailInput, context: Context) -> Draft:
    """
    Check a new message.

    Raises:
        InvalidInput: `VALIDATION_ERROR`, one detail per reason.
    """
    findings = _Findings()
    groups = [("to", written.to), ("cc", written.cc or []), ("bcc", written.bcc or [])]
    to, cc, bcc = _recipients(groups, findings)
    if len(written.subject) > MAX_SUBJECT:
        findings.add("subject", f"It may have at most {MAX_SUBJECT} characters.")
    if unsafe(written.subject):
        findings.add("subject", "Line breaks and control characters are not allowed.")
    _check_body(written.body, findings)
    findings.settle()
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


def reply(written: ReplyEmailInput, context: Context) -> Reply:
    """Check an answer; the original is quoted only to callers who may see its body."""
    findings = _Findings()
    _check_body(written.body, findings)
    findings.settle()
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


def forward(written: ForwardEmailInput, context: Context) -> Forward:
    """Check a message to be passed on."""
    findings = _Findings()
    to, cc = _recipients([("to", written.to), ("cc", written.cc or [])], findings)
    _check_body(written.body or "", findings)
    findings.settle()
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
    """Return the attributes of the original that neither a quotation nor a forward may tell."""
    if not caller.strict:
        return frozenset()
    return frozenset(attribute for field, attribute in _QUOTED.items() if caller.hides(field))


# What a quotation or a forward says of the original -> the record attribute.
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
    Choose the connection to send from: the one named, else the first that may write.

    Raises:
        NotFound: `CONNECTION_NOT_FOUND`: not an email connection on the token's resources.
        NoUsableConnection: The one named, or every one, is inactive or excluded.
        ReadOnlyConnection: It, or every usable one, has read scopes only.
    """
    caller = context.caller
    if connection_id is not None and not any(
        one.id == connection_id and one.kind == Surface.EMAIL for one in caller.connections
    ):
        raise NotFound(
            "This token has no email connection with this id.", code=Code.CONNECTION_NOT_FOUND
        )
    candidates = [
        one for one in caller.usable_connections(Surface.EMAIL) if connection_id in {None, one.id}
    ]
    if not candidates:
        raise NoUsableConnection(Surface.EMAIL)
    writable = [one for one in candidates if one.can_write]
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
    groups: Sequence[tuple[str, Sequence[ParticipantInput]]], findings: _Findings
) -> list[tuple[Participant, ...]]:
    if not groups[0][1]:
        findings.add("to", "At least one recipient is required.")
    if sum(len(people) for _, people in groups) > MAX_RECIPIENTS:
        findings.add("to", f"At most {MAX_RECIPIENTS} recipients are allowed, cc and bcc included.")
        findings.settle()
    return [
        tuple(
            _participant(person, f"{name}[{index}]", findings)
            for index, person in enumerate(people)
        )
        for name, people in groups
    ]


def _participant(person: ParticipantInput, place: str, findings: _Findings) -> Participant:
    for problem in _address_problems(person.email):
        findings.add(f"{place}.email", problem)
    if person.name is not None and unsafe(person.name):
        findings.add(f"{place}.name", "Line breaks and control characters are not allowed.")
    return Participant(email=person.email, name=person.name)


def _address_problems(address: str) -> Iterable[str]:
    local, at, domain = address.partition("@")
    if not (local and at and domain) or "@" in domain:
        yield "An address has exactly one @, with text on both sides."
    if _SEPARATOR.search(local) or (_SEPARATOR.search(domain) and not _NUMBER.fullmatch(domain)):
        yield "Commas, brackets and other separators are not allowed."
    if len(address) > MAX_ADDRESS:
        yield f"An address has at most {MAX_ADDRESS} characters."
    if unsafe(address) or any(character.isspace() for character in address):
        yield "Blanks and control characters are not allowed."


def _check_body(body: str, findings: _Findings) -> None:
    if any(unicodedata.category(character) == "Cs" for character in body):
        findings.add("body", "It holds half of a character (a lone surrogate).")


def _delivery(context: Context) -> Delivery:
    return context.delivery or Delivery(f"{secrets.token_hex(16)}@access-gateway.invalid")
