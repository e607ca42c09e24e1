"""
Replies and forwards as composed messages: recipients, subject and the quoted original.

See docs/spec/upstream/outlook-mail.md#reply and docs/spec/upstream/outlook-mail.md#forward.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape

from sandbox.mail.mime import Address
from sandbox.mail.store import StoredMail
from sandbox.provider_b.outlook_mail import bodies
from sandbox.provider_b.outlook_mail.compose import ComposedMessage, from_part
from sandbox.provider_b.outlook_mail.content import Content


def reply(
    content: Content, mail: StoredMail, *, account: str, comment: str, everyone: bool
) -> ComposedMessage:
    """
    Compose a reply to a message.

    The recipients are Reply-To, else From, or the original To if those name only the account. With
    *everyone* the original To and Cc are added, without the account.
    """
    to = content.people("Reply-To") or content.people("From")
    if all(_is_account(person, account) for person in to):
        to = content.people("To")
    cc: tuple[Address, ...] = ()
    if everyone:
        to = _without(account, (*to, *content.people("To")))
        cc = _without(account, content.people("Cc"), but=to)
    return ComposedMessage(
        to=to,
        cc=cc,
        subject=_prefixed("RE:", content.tree.header("Subject") or ""),
        body=_quote(content, mail, comment),
        in_reply_to=content.tree.header("Message-ID") or "",
        references=_references(content),
    )


def forward(content: Content, mail: StoredMail, *, comment: str) -> ComposedMessage:
    """Compose a forward, with the quoted original and its attachments."""
    return ComposedMessage(
        subject=_prefixed("FW:", content.tree.header("Subject") or ""),
        body=_quote(content, mail, comment),
        references=_references(content),
        files=tuple(from_part(part) for part in content.attachments),
    )


def _without(
    account: str, people: Iterable[Address], *, but: Iterable[Address] = ()
) -> tuple[Address, ...]:
    taken = {account.casefold(), *(person.address.casefold() for person in but)}
    others = []
    for person in people:
        if person.address.casefold() not in taken:
            taken.add(person.address.casefold())
            others.append(person)
    return tuple(others)


def _is_account(person: Address, account: str) -> bool:
    return person.address.casefold() == account.casefold()


def _prefixed(prefix: str, subject: str) -> str:
    return subject if subject.lower().startswith(prefix.lower()) else f"{prefix} {subject}"


def _references(content: Content) -> str:
    earlier = (content.tree.header("References") or "").split()
    own = (content.tree.header("Message-ID") or "").split()
    return " ".join(dict.fromkeys((*earlier, *own)))


def _quote(content: Content, mail: StoredMail, comment: str) -> str:
    moment = datetime.fromtimestamp(mail.received_ms / 1000, UTC)
    rows = (
        ("From", _names(content.people("From"))),
        ("Sent", moment.strftime("%A, %B %-d, %Y %-I:%M:%S %p")),
        ("To", _names(content.people("To"))),
        ("Cc", _names(content.people("Cc"))),
        ("Subject", content.tree.header("Subject") or ""),
    )
    lines = "<br>\r\n".join(f"<b>{name}:</b> {escape(text)}" for name, text in rows if text)
    words = "<br>\r\n".join(escape(line) for line in comment.splitlines())
    start = f'<div dir="ltr">{words}</div><hr><div id="divRplyFwdMsg" dir="ltr">{lines}</div><br>'
    return bodies.insert_before_body(content.html, start)


def _names(people: Iterable[Address]) -> str:
    return "; ".join(
        f"{person.name} <{person.address}>" if person.name else person.address for person in people
    )
