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
from sandbox.world.accounts import DemoAccount, demo_accounts
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.recurring_messages import recurring_mails
from sandbox.world.mail.remaining_messages import remaining_mails
from sandbox.world.mail.texts import load_scripts

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
            for account in demo_accounts(day):
                _fill(mails, account)
            store.set_meta(_SEEDED, day.isoformat())
    return SeededMail(
        day=day if kept is None else date.fromisoformat(kept),
        created=kept is None,
        accounts={account.mailbox: account.address for account in demo_accounts(day)},
        mails={account.mailbox: len(mails.all(account.mailbox)) for account in demo_accounts(day)},
    )


def planned_mails(account: DemoAccount) -> tuple[NewMail, ...]:
    """Return every message of *account*'s mailbox, oldest first."""
    return tuple(sorted(_everything(account), key=lambda mail: mail.received_ms or 0))


def _everything(account: DemoAccount) -> Iterator[NewMail]:
    side = "yard" if account.mailbox == PROVIDER_A else "studio"
    for name in (side, f"{side}_letters"):
        for story in load_scripts(name):
            yield from conversation_mails(account, story)
    yield from recurring_mails(account)
    yield from remaining_mails(account)


def _fill(mails: MailStore, account: DemoAccount) -> None:
    planned = planned_mails(account)
    mails.set_account(account.mailbox, Account(account.address, account.owner.name))
    used = dict.fromkeys(label for mail in planned for label in mail.labels)
    for label in (*used, *_UNUSED):
        if not label.isupper() or label == "VIP":  # the others are the provider's own
            mails.add_label(account.mailbox, label)
    mails.add_many(account.mailbox, planned)
