"""Newsletters: two per account, in several languages and charsets."""

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount
from sandbox.world.mail.composer import ComposedMail, message_id
from sandbox.world.mail.deliveries import YEAR_DAYS, deliver, system_label
from sandbox.world.mail.texts import phrases
from sandbox.world.people import Person

_PROMOTIONS = "CATEGORY_PROMOTIONS"


@dataclass(frozen=True, slots=True)
class Newsletter:
    """A newsletter; *heading* names its topics in `phrases`."""

    sender: Person
    every_days: int
    heading: str
    intro: str
    closing: str


NEWSLETTERS = {
    "provider-a": (
        Newsletter(
            Person(
                key="letter",
                name="The Wooden Boat Letter",
                email="letter@woodenboatletter.example",
                style="html",
                zone="Europe/London",
            ),
            14,
            "wooden boat letter",
            "Good morning. In this letter:",
            "You receive this letter because you once asked for it. A short answer ends it.",
        ),
        Newsletter(
            Person(
                key="holz",
                name="Holz & Hafen",
                email="redaktion@holz-und-hafen.example",
                style="html-only",
                charset="iso-8859-1",
                zone="Europe/Berlin",
            ),
            30,
            "holz und hafen",
            "Liebe Leserinnen und Leser, in dieser Ausgabe:",
            "Sie möchten keine Post mehr? Eine kurze Antwort genügt. Schöne Grüße vom Kai!",
        ),
    ),
    "provider-b": (
        Newsletter(
            Person(
                key="ritningen",
                name="Ritningen – nyhetsbrev för arkitekter",
                email="nyhetsbrev@ritningen.example",
                style="html",
                charset="utf-8",
                transfer="base64",
            ),
            14,
            "ritningen",
            "Hej! Veckans ämnen:",
            "Vill du inte ha brevet längre? Svara NEJ, så slutar vi genast.",
        ),
        Newsletter(
            Person(
                key="quai",
                name="Le Quai",
                email="lettre@le-quai.example",
                style="html-only",
                charset="iso-8859-15",
                zone="Europe/Paris",
            ),
            30,
            "le quai",
            "Chère lectrice, cher lecteur, au sommaire de ce numéro :",
            "Pour ne plus recevoir cette lettre, répondez simplement « non merci ».",
        ),
    ),
}


def newsletter_mails(account: DemoAccount) -> Iterator[NewMail]:
    """Yield a year of newsletters, in no order."""
    for newsletter in NEWSLETTERS[account.mailbox]:
        yield from _issues(account, newsletter)


def _issues(account: DemoAccount, newsletter: Newsletter) -> Iterator[NewMail]:
    topics = phrases()[newsletter.heading]
    domain = newsletter.sender.email.rpartition("@")[2]
    for issue, days in enumerate(range(YEAR_DAYS - 3, 2, -newsletter.every_days)):
        shown = [topics[(issue + offset) % len(topics)] for offset in (0, 7, 11)]
        mail = ComposedMail(
            sender=newsletter.sender,
            to=[(account.owner.name, account.address)],
            subject=f"{topics[issue % len(topics)]} ({issue + 41})",
            text="\n\n".join(
                (newsletter.intro, *(f"• {topic}" for topic in shown), newsletter.closing)
            ),
            sent_at=account.moment(
                days, hour=6, seed=f"{domain}/{issue}", zone=newsletter.sender.zone
            ),
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, domain, issue, domain=domain),
            extra_headers=(
                ("List-Id", f"<letter.{domain}>"),
                ("List-Unsubscribe", f"<mailto:leave@{domain}?subject=leave-{issue}>"),
                ("Precedence", "bulk"),
            ),
        )
        yield deliver(account, mail, labels=system_label(account, _PROMOTIONS))
