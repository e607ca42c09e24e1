"""What becomes of a mail: when it came in, whether Nora has read it, where it lies."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import TypeVar
from zoneinfo import ZoneInfo

from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.mail.store import NewMail
from sandbox.world.mail.correspondence import ComposedMail, render
from sandbox.world.people import MAILING_LISTS, PEOPLE, STUDIO_ACCOUNT, YARD_ACCOUNT, Person

T = TypeVar("T")

_STRANGERS = (  # charset, transfer encoding, style
    ("utf-8", "quoted-printable", "plain"),
    ("utf-8", "base64", "html"),
    ("iso-8859-1", "8bit", "plain"),
    ("windows-1252", "quoted-printable", "html"),
    ("utf-8", "8bit", "plain"),
    ("iso-8859-15", "quoted-printable", "html-only"),
)

READ_AFTER_DAYS = 4  # what is older has been read, but for a few


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """
    One of Nora's two accounts on a given day.

    Attributes:
        today: The day the world is made for; nothing has been received on it or later.
        me: Nora as the sender from this account.
        everyone: Key of the list her colleagues of this side are on.
    """

    mailbox: str
    today: date
    me: Person
    everyone: str

    @property
    def account(self) -> str:
        """Nora's address here."""
        return self.me.email

    @property
    def end(self) -> datetime:
        """The first moment (UTC) that has not happened yet."""
        return datetime.combine(self.today, time(), UTC)

    def person(self, key: str) -> Person:
        """Return who is meant by *key*: "me" (Nora), one of the cast, or ``Name <address>``."""
        if "<" in key:
            return stranger(key)
        return self.me if key == "me" else PEOPLE[key]

    def receiver(self, key: str) -> tuple[str, str]:
        """Return display name and address of a person or a list."""
        if key in MAILING_LISTS:
            return MAILING_LISTS[key]
        person = self.person(key)
        return person.name, person.email

    def workday(self, days: int) -> date:
        """Return the day *days* ago, or the Friday before when that was a weekend."""
        day = self.today - timedelta(days=days)
        return day - timedelta(days=max(0, day.weekday() - 4))

    def moment(self, days: int, *, hour: int, seed: str, zone: str) -> datetime:
        """Return a moment (UTC) *days* ago, in the hour *hour* of *zone*, settled by *seed*."""
        day = self.today - timedelta(days=days)
        spread = timedelta(seconds=chance(seed, "moment") * 3500)
        return (datetime.combine(day, time(hour), ZoneInfo(zone)) + spread).astimezone(UTC)


def demo_accounts(today: date) -> tuple[DemoAccount, DemoAccount]:
    """Return the yard's and the studio's desk."""
    yard = DemoAccount(mailbox=PROVIDER_A, today=today, me=PEOPLE["nora"], everyone="yard")
    studio = DemoAccount(mailbox=PROVIDER_B, today=today, me=PEOPLE["nora2"], everyone="studio")
    if (yard.account, studio.account) != (YARD_ACCOUNT, STUDIO_ACCOUNT):
        raise AssertionError("the cast's Nora does not own the demo accounts")
    return yard, studio


@cache
def stranger(written_as: str) -> Person:
    """Return somebody outside the cast from ``Name <address>``, with habits of their own."""
    name, _, address = written_as.rstrip(">").partition(" <")
    charset, transfer, style = pick(_STRANGERS, address)
    return Person(
        key=address, name=name, email=address, charset=charset, transfer=transfer, style=style
    )


def chance(*seed: object) -> float:
    """Return a number from 0 up to 1 that only *seed* decides."""
    digest = hashlib.sha256("/".join(map(str, seed)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def pick(options: Sequence[T], *seed: object) -> T:
    """Return one of *options*, settled by *seed*."""
    return options[int(chance(*seed) * len(options))]


def in_waking_hours(moment: datetime, zone: str) -> datetime:
    """Move what would be written at night or on a weekend to the next working morning."""
    local = moment.astimezone(ZoneInfo(zone))
    if 7 <= local.hour < 22 and local.weekday() < 5:
        return moment
    morning = local.replace(hour=7, minute=10 + local.minute % 45)
    if local.hour >= 22:
        morning += timedelta(days=1)
    if morning.weekday() >= 5:
        morning += timedelta(days=7 - morning.weekday())
    return morning.astimezone(UTC)


def deliver(
    desk: DemoAccount,
    writing: ComposedMail,
    *,
    labels: Sequence[str] = (),
    starred: bool = False,
    archived: bool = False,
) -> NewMail:
    """Return *writing* as it lies in the mailbox: sent by Nora, or received and maybe read."""
    raw = render(writing)
    seconds = 1 + chance(writing.message_id, "transit") * 8
    own = writing.sender.email == desk.account
    age = (desk.end - writing.at).days
    unread = chance(writing.message_id, "unread") < (0.55 if age < READ_AFTER_DAYS else 0.04)
    return new_mail(
        raw,
        writing.at if own else writing.at + timedelta(seconds=seconds),
        folder="sent" if own else "archive" if archived else "inbox",
        labels=labels,
        read=own or not unread,
        starred=starred,
    )


def new_mail(
    raw: bytes,
    at: datetime,
    *,
    folder: str = "inbox",
    labels: Sequence[str] = (),
    read: bool = True,
    starred: bool = False,
) -> NewMail:
    """Return a raw mail received at *at*."""
    return NewMail(
        raw=raw,
        folder=folder,
        labels=tuple(labels),
        is_read=read,
        is_starred=starred,
        received_ms=int(at.timestamp() * 1000),
    )
