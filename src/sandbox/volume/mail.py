"""
A mailbox of many messages, spread over the ten years before a day.

The messages share a few thousand texts, without a date or a Message-ID of their own, so that a
search need not parse each of them.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage

from sandbox.mail.store import NEW_THREAD, MailStore, NewMail

MESSAGES = 100_000
DAYS = 3650  # up to the day
TEXTS = 2000  # distinct ones
PEOPLE = 200
LABEL = "Bookings"  # of one message in a hundred
WORD = "harbour"  # in one subject in five, and in its body
RARE_WORD = "sextant"  # in one subject in a thousand, and in its body
RARE_AUTHOR = "Rosalind Rare <rosalind@rare.example>"  # of one message in a thousand


def fill(store: MailStore, mailbox: str, day: date, *, messages: int = MESSAGES) -> None:
    """Add *messages* messages to a mailbox; the newest is of the morning of *day*."""
    store.add_label(mailbox, LABEL)
    owner = store.account(mailbox).email
    texts = [_text(number, owner) for number in range(TEXTS)]
    store.add_many(mailbox, _messages(texts, day, messages))


def _messages(texts: list[bytes], day: date, count: int) -> Iterator[NewMail]:
    newest = datetime.combine(day, time(6), UTC)
    for number in range(count):
        received = newest - timedelta(seconds=number * DAYS * 86_400 // count)
        yield NewMail(
            raw=texts[number % TEXTS],
            folder="archive" if number % 3 else "inbox",
            labels=(LABEL,) if number % 100 == 7 else (),
            is_read=number % 10 != 0,
            received_ms=int(received.timestamp() * 1000),
            thread_id=NEW_THREAD,
        )


def _text(number: int, owner: str) -> bytes:
    guest = f"Guest {number % PEOPLE} <guest{number % PEOPLE}@visitors.example>"
    subject = f"Booking {number}"
    subject += f" at the {WORD}" if number % 5 == 0 else ""
    subject += f" with a {RARE_WORD}" if number % 1000 == 3 else ""
    message = EmailMessage()
    message["From"] = RARE_AUTHOR if number % 1000 == 13 else guest
    message["To"] = owner
    if number % 4 == 0:
        message["Cc"] = f"Desk {number % 7} <desk{number % 7}@visitors.example>"
    message["Subject"] = subject
    message.set_content(f"{subject}.\n\nWe look forward to number {number} of our bookings.\n")
    if number % 20 == 9:
        plan = b"%PDF-1.7 " + str(number).encode()
        message.add_attachment(plan, maintype="application", subtype="pdf", filename="plan.pdf")
    return message.as_bytes()
