"""
The two mailboxes of the demo world, a year of mail each.

The same day gives the same bytes: nothing here looks at a clock or at chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import Account, MailStore, NewMail
from sandbox.storage.database import Database
from sandbox.world.mail import recurring_messages, remaining_messages
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.deliveries import DemoAccount, demo_accounts
from sandbox.world.mail.texts import conversation_scripts

_SEEDED = "world:mail"  # meta key: the day the world was made for
_UNUSED = ("Someday/Maybe", "Read Later")  # labels that nothing carries yet


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededMail:
    """
    What the mail world holds.

    Attributes:
        day: The day it was made for (UTC).
        created: Whether this call wrote it, rather than an earlier one.
        accounts: Mailbox to its owner's address.
        mails: Mailbox to its number of messages, whatever their folder.
    """

    day: date
    created: bool
    accounts: dict[str, str]
    mails: dict[str, int]


def seed(store: Database, mails: MailStore, now: datetime | None = None) -> SeededMail:
    """Write both mailboxes once; later calls leave the store alone and say what it holds."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    kept = store.meta(_SEEDED)
    if kept is None:
        with store.transaction():
            for desk in demo_accounts(day):
                _fill(mails, desk)
            store.set_meta(_SEEDED, day.isoformat())
    return SeededMail(
        day=day if kept is None else date.fromisoformat(kept),
        created=kept is None,
        accounts={desk.mailbox: desk.account for desk in demo_accounts(day)},
        mails={desk.mailbox: len(mails.all(desk.mailbox)) for desk in demo_accounts(day)},
    )


def planned_mails(desk: DemoAccount) -> tuple[NewMail, ...]:
    """Return every message of *desk*'s mailbox, oldest first."""
    return tuple(sorted(_everything(desk), key=lambda mail: mail.received_ms or 0))


def _everything(desk: DemoAccount) -> Iterator[NewMail]:
    side = "yard" if desk.mailbox == PROVIDER_A else "studio"
    for name in (side, f"{side}_letters"):
        for story in conversation_scripts(name):
            yield from conversation_mails(desk, story)
    yield from recurring_messages.everything(desk)
    yield from remaining_messages.everything(desk)


def _fill(mails: MailStore, desk: DemoAccount) -> None:
    planned = planned_mails(desk)
    mails.set_account(desk.mailbox, Account(desk.account, desk.me.name))
    used = dict.fromkeys(label for mail in planned for label in mail.labels)
    for label in (*used, *_UNUSED):
        if not label.isupper() or label == "VIP":  # the others are the provider's own
            mails.add_label(desk.mailbox, label)
    mails.add_many(desk.mailbox, planned)
