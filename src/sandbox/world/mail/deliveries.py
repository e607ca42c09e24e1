"""Delivery of composed mail: its received time, its folder, and whether Nora has read it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount
from sandbox.world.chance import chance
from sandbox.world.mail.composer import ComposedMail, render

YEAR_DAYS = 364  # recurring mail goes back so far
READ_AFTER_DAYS = 4  # older mail has been read, with few exceptions


def deliver(
    account: DemoAccount,
    mail: ComposedMail,
    *,
    labels: Sequence[str] = (),
    starred: bool = False,
    archived: bool = False,
) -> NewMail:
    """Return *mail* as *account* stores it: sent by Nora, or received and perhaps read."""
    seconds = 1 + chance(mail.message_id, "transit") * 8
    is_own = mail.sender.email == account.address
    age_days = (account.now - mail.sent_at).days
    unread = chance(mail.message_id, "unread") < (0.55 if age_days < READ_AFTER_DAYS else 0.04)
    return new_mail(
        render(mail),
        mail.sent_at if is_own else mail.sent_at + timedelta(seconds=seconds),
        folder="sent" if is_own else "archive" if archived else "inbox",
        labels=labels,
        read=is_own or not unread,
        starred=starred,
    )


def new_mail(
    raw: bytes,
    received_at: datetime,
    *,
    folder: str = "inbox",
    labels: Sequence[str] = (),
    read: bool = True,
    starred: bool = False,
) -> NewMail:
    """Return a raw mail received at *received_at*."""
    return NewMail(
        raw=raw,
        folder=folder,
        labels=tuple(labels),
        is_read=read,
        is_starred=starred,
        received_ms=int(received_at.timestamp() * 1000),
    )


def system_label(account: DemoAccount, label: str) -> tuple[str, ...]:
    """Return *label* if the provider has system labels, else nothing."""
    return (label,) if account.mailbox == PROVIDER_A else ()
