"""The two mailboxes of the demo world; the same day gives the same bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.mail.store import Account, MailStore, NewMail
from sandbox.storage.database import Database
from sandbox.world.accounts import SIGN_IN_NAMES, DemoAccount, demo_accounts
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.recurring_messages import recurring_mails
from sandbox.world.mail.remaining_messages import remaining_mails
from sandbox.world.mail.texts import load_scripts

_SEEDED = "world:mail"  # meta key: the day that the world is made for
_UNUSED_LABELS = ("Someday/Maybe", "Read Later")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededMail:
    """
    Result of seeding the mailboxes.

    Attributes:
        day: The day that the world is made for (UTC).
        created: Whether this call wrote the mail, rather than an earlier one.
        accounts: Mailbox to its owner's address.
        mails: Mailbox to its number of messages in all folders.
    """

    day: date
    created: bool
    accounts: dict[str, str]
    mails: dict[str, int]


def seed(database: Database, mails: MailStore, now: datetime | None = None) -> SeededMail:
    """Write both mailboxes, unless an earlier call did."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    seeded_day = database.meta(_SEEDED)
    if seeded_day is None:
        with database.transaction():
            for account in demo_accounts(day):
                _fill(mails, account)
            database.set_meta(_SEEDED, day.isoformat())
    return SeededMail(
        day=day if seeded_day is None else date.fromisoformat(seeded_day),
        created=seeded_day is None,
        accounts={account.mailbox: account.address for account in demo_accounts(day)},
        mails={account.mailbox: len(mails.all(account.mailbox)) for account in demo_accounts(day)},
    )


def planned_mails(account: DemoAccount) -> tuple[NewMail, ...]:
    """Return every message of *account*'s mailbox, oldest first."""
    return tuple(sorted(_mails(account), key=lambda mail: mail.received_ms or 0))


def _mails(account: DemoAccount) -> Iterator[NewMail]:
    side = "yard" if account.mailbox == PROVIDER_A else "studio"
    for name in (side, f"{side}_letters"):
        for script in load_scripts(name):
            yield from conversation_mails(account, script)
    yield from recurring_mails(account)
    yield from remaining_mails(account)


def _fill(mails: MailStore, account: DemoAccount) -> None:
    planned = planned_mails(account)
    sign_in_name = SIGN_IN_NAMES.get(account.address, "") if account.mailbox == PROVIDER_B else ""
    mails.set_account(account.mailbox, Account(account.address, account.owner.name, sign_in_name))
    used = dict.fromkeys(label for mail in planned for label in mail.labels)
    for label in (*used, *_UNUSED_LABELS):
        if not label.isupper() or label == "VIP":  # the others are the provider's own
            mails.add_label(account.mailbox, label)
    mails.add_many(account.mailbox, planned)
