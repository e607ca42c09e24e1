"""Invoices of suppliers and statements of the bank, every month."""

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount
from sandbox.world.chance import chance, pick
from sandbox.world.mail import attachment_files, mime_writer
from sandbox.world.mail.composer import ComposedMail, message_id
from sandbox.world.mail.deliveries import YEAR_DAYS, deliver
from sandbox.world.people import PEOPLE, Person

_BOOKINGS = ("Ek och lärk", "Löner", "Elavgift", "Hyra skjul 4", "Färg", "Kund, delbetalning")


@dataclass(frozen=True, slots=True)
class Supplier:
    """
    A supplier that sends an invoice every month.

    Attributes:
        subject, text, file: Templates with {month}, {number} and {amount}.
        typical_amount: In the supplier's currency; each invoice differs by up to 20 %.
    """

    sender: Person
    subject: str
    text: str
    file: str
    typical_amount: int
    labels: tuple[str, ...]


SUPPLIERS = {
    "provider-a": (
        Supplier(
            Person(
                key="el",
                name="Kustkraft Elhandel",
                email="faktura@kustkraft.example",
                style="html",
                charset="iso-8859-1",
            ),
            "Din elfaktura för {month}",
            "Hej!\n\nHär kommer fakturan för {month}: {amount} kr, att betala inom 30 dagar."
            " Fakturan ligger som PDF i det här brevet.\n\nOCR-nummer: {number}",
            "Faktura {number}.pdf",
            8200,
            ("Invoices/Energy",),
        ),
        Supplier(
            PEOPLE["tim"],
            "Invoice {number} for {month}",
            "Hello Linnéa, hello Nora,\n\nplease find attached our invoice {number} over"
            " €{amount}: varnish, thinner and the brushes that Elif likes.\n\nThe tins can be"
            " returned as always.",
            "OHara-{number}.pdf",
            640,
            ("Invoices",),
        ),
    ),
    "provider-b": (
        Supplier(
            Person(
                key="druck",
                name="Plandruck Süd GmbH",
                email="rechnung@plandruck-sued.example",
                charset="iso-8859-15",
                zone="Europe/Berlin",
            ),
            "Rechnung {number} für {month}",
            "Sehr geehrte Damen und Herren,\n\nanbei erhalten Sie unsere Rechnung {number}"
            " über {amount} €, zahlbar innerhalb von 14 Tagen ohne Abzug.\n\nVielen Dank für"
            " Ihren Auftrag!",
            "Rechnung_{number}.pdf",
            310,
            ("Invoices",),
        ),
        Supplier(
            Person(
                key="line",
                name="Lineweight Software",
                email="billing@lineweight.example",
                style="html",
                transfer="base64",
                zone="Europe/London",
            ),
            "Your receipt for {month}",
            "Hi Nora,\n\nthis is the receipt {number} for nine seats of Lineweight in {month}:"
            " €{amount}. There is nothing to do.",
            "receipt-{number}.pdf",
            405,
            ("Invoices", "Software & Licences"),
        ),
    ),
}


def invoice_mails(account: DemoAccount) -> Iterator[NewMail]:
    """Yield a year of invoices and bank statements, in no order."""
    for supplier in SUPPLIERS[account.mailbox]:
        yield from _invoices(account, supplier)
    yield from _statements(account)


def _invoices(account: DemoAccount, supplier: Supplier) -> Iterator[NewMail]:
    domain = supplier.sender.email.rpartition("@")[2]
    for month, days in enumerate(range(YEAR_DAYS - 11, 2, -30)):
        at = account.moment(days, hour=8, seed=f"{domain}/{month}", zone=supplier.sender.zone)
        number = 20117 + month * 37
        amount = f"{supplier.typical_amount * (0.8 + 0.4 * chance(domain, month)):.2f}"
        values = {"month": f"{at:%Y-%m}", "number": number, "amount": amount}
        name = supplier.file.format(**values)
        lines = (supplier.sender.name, "", name, f"Period {at:%Y-%m}", f"Total {amount}")
        mail = ComposedMail(
            sender=supplier.sender,
            to=[(account.owner.name, account.address)],
            cc=[account.recipient("linnea")] if account.mailbox == PROVIDER_A else (),
            subject=supplier.subject.format(**values),
            text=supplier.text.format(**values),
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, domain, month, domain=domain),
            parts=(mime_writer.file(name, "application/pdf", attachment_files.pdf(lines)),),
        )
        yield deliver(account, mail, labels=supplier.labels)


def _statements(account: DemoAccount) -> Iterator[NewMail]:
    bank = PEOPLE["peter"]
    for month, days in enumerate(range(YEAR_DAYS - 20, 2, -30)):
        at = account.moment(days, hour=5, seed=f"statement/{month}", zone=bank.zone)
        rows = [
            (
                f"{at:%Y-%m}-{day:02}",
                pick(_BOOKINGS, month, day),
                f"{chance(month, day) * 9000:.2f}",
            )
            for day in range(2, 27, 3)
        ]
        name = f"Kontoutdrag {at:%Y-%m}.csv"
        data = attachment_files.csv(
            [("Datum", "Händelse", "Belopp"), *rows], charset="windows-1252"
        )
        mail = ComposedMail(
            sender=bank,
            to=[(account.owner.name, account.address)],
            subject=f"Kontoutdrag {at:%Y-%m}",
            text="Hej Nora,\n\nhär är kontoutdraget för månaden. Ring om något ser konstigt ut.",
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, "statement", month, domain="kustbanken.example"),
            parts=(mime_writer.file(name, "text/csv", data),),
        )
        yield deliver(account, mail, labels=("Insurance & Bank",))
