"""Conversations, made of the messages that a token may see."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from graph.context import Context
from graph.emails.types import Thread
from policy.vocabulary import Surface
from providers.records import mail as records
from providers.records.mail import Email, Participant


def visible_thread(thread: records.Thread, context: Context) -> Thread:
    """Derive subject, participants and newest time from what the token may see."""
    received = [email.received_at for email in thread.messages if email.received_at is not None]
    return Thread(
        id=thread.id,
        provider=thread.provider,
        subject=thread.messages[0].subject if thread.messages else None,
        messages=thread.messages,
        message_count=thread.message_count,
        participants=participants(thread.messages, context.hidden),
        last_message_at=max(received, default=None),
        access_info=context.caller.access_info(Surface.EMAIL),
    )


def participants(
    emails: Iterable[Email], hidden: AbstractSet[str]
) -> tuple[Participant, ...] | None:
    """
    List each address of the visible from, to and cc once, in order of appearance.

    Addresses are compared without case; the first name seen wins, also when it comes later than
    the address. None when none of the three is visible (docs/spec/masks.md#thread-participants).
    """
    if {"Email.from", "Email.to", "Email.cc"} <= hidden:
        return None
    seen: dict[str, Participant] = {}
    for email in emails:
        for person in _visible_people(email, hidden):
            first = seen.setdefault(person.email.casefold(), person)
            if not first.name and person.name:
                seen[person.email.casefold()] = Participant(email=first.email, name=person.name)
    return tuple(seen.values())


def _visible_people(email: Email, hidden: AbstractSet[str]) -> Iterable[Participant]:
    if "Email.from" not in hidden and email.from_ is not None:
        yield email.from_
    if "Email.to" not in hidden:
        yield from email.to or ()
    if "Email.cc" not in hidden:
        yield from email.cc or ()
