"""The demo accounts: their sign-in names, and the people and moments that their mail names."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from types import MappingProxyType
from zoneinfo import ZoneInfo

from sandbox.mail.ids import PROVIDER_A, PROVIDER_B
from sandbox.world.chance import chance, pick
from sandbox.world.people import (
    MAILING_LISTS,
    PARTNER_ACCOUNT,
    PEOPLE,
    STUDIO_ACCOUNT,
    YARD_ACCOUNT,
    Person,
)

# Address -> the user principal name of the same account.
SIGN_IN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        STUDIO_ACCOUNT: "n.lindqvist@harbourlight.onmicrosoft.example",
        PARTNER_ACCOUNT: "h.aalto@harbourlight.onmicrosoft.example",
    }
)
_STRANGERS = (  # charset, transfer encoding, style
    ("utf-8", "quoted-printable", "plain"),
    ("utf-8", "base64", "html"),
    ("iso-8859-1", "8bit", "plain"),
    ("windows-1252", "quoted-printable", "html"),
    ("utf-8", "8bit", "plain"),
    ("iso-8859-15", "quoted-printable", "html-only"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoAccount:
    """
    One of Nora's two accounts on a given day.

    Attributes:
        mailbox: "provider-a" or "provider-b".
        today: The day the world is made for; nothing has been received on it or later.
        owner: Nora as the sender from this account.
        team_list: Key of the mailing list of her colleagues, in `MAILING_LISTS`.
    """

    mailbox: str
    today: date
    owner: Person
    team_list: str

    @property
    def address(self) -> str:
        """The account's mail address."""
        return self.owner.email

    @property
    def now(self) -> datetime:
        """The first moment (UTC) that has not happened yet: the midnight that begins *today*."""
        return datetime.combine(self.today, time(), UTC)

    def person(self, key: str) -> Person:
        """Return the person of *key*: "me" (Nora), a key of `PEOPLE`, or ``Name <address>``."""
        if "<" in key:
            return stranger(key)
        return self.owner if key == "me" else PEOPLE[key]

    def recipient(self, key: str) -> tuple[str, str]:
        """Return display name and address of a person or a mailing list."""
        if key in MAILING_LISTS:
            return MAILING_LISTS[key]
        person = self.person(key)
        return person.name, person.email

    def workday(self, days: int) -> date:
        """Return the day *days* ago, or the Friday before it if it was on a weekend."""
        day = self.today - timedelta(days=days)
        return day - timedelta(days=max(0, day.weekday() - 4))

    def moment(self, days: int, *, hour: int, seed: str, zone: str) -> datetime:
        """Return a moment (UTC) *days* ago, within the hour *hour* of *zone*, chosen by *seed*."""
        day = self.today - timedelta(days=days)
        spread = timedelta(seconds=chance(seed, "moment") * 3500)
        return (datetime.combine(day, time(hour), ZoneInfo(zone)) + spread).astimezone(UTC)


def demo_accounts(today: date) -> tuple[DemoAccount, DemoAccount]:
    """Return the yard's account (provider A) and the studio's (provider B)."""
    yard = DemoAccount(mailbox=PROVIDER_A, today=today, owner=PEOPLE["nora"], team_list="yard")
    studio = DemoAccount(mailbox=PROVIDER_B, today=today, owner=PEOPLE["nora2"], team_list="studio")
    if (yard.address, studio.address) != (YARD_ACCOUNT, STUDIO_ACCOUNT):
        raise AssertionError("the Nora of PEOPLE does not own the demo accounts")
    return yard, studio


@cache
def stranger(mailbox: str) -> Person:
    """Return a person outside `PEOPLE` from ``Name <address>``; the address decides the style."""
    name, _, address = mailbox.rstrip(">").partition(" <")
    charset, transfer, style = pick(_STRANGERS, address)
    return Person(
        key=address, name=name, email=address, charset=charset, transfer=transfer, style=style
    )
