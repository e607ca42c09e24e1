"""Conversations as mail: each script's mails with their times, subjects and references."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount
from sandbox.world.chance import chance
from sandbox.world.mail.composer import ComposedMail, message_id
from sandbox.world.mail.conversation_scripts import ConversationScript, ScriptedMail
from sandbox.world.mail.deliveries import deliver

ARCHIVED_AFTER_DAYS = 150  # conversations that began earlier have left the inbox

_REPLY_PREFIXES = ("re:", "aw:", "sv:", "re :", "odp:", "fwd:")


def conversation_mails(account: DemoAccount, script: ConversationScript) -> Iterator[NewMail]:
    """Yield the mails of *script* that were sent before *account*'s day, oldest first."""
    mails = list(_composed_mails(account, script))
    for mail in mails:
        starred = script.starred and mail is mails[-1]
        archived = script.days > ARCHIVED_AFTER_DAYS
        yield deliver(account, mail, labels=script.labels, starred=starred, archived=archived)


def message_ids(account: DemoAccount, script: ConversationScript) -> list[str]:
    """Return the Message-IDs of all mails of *script*, oldest first."""
    return [_message_id(account, script, number) for number in range(len(script.mails))]


def _composed_mails(account: DemoAccount, script: ConversationScript) -> Iterator[ComposedMail]:
    earlier: list[ComposedMail] = []
    for scripted, sent_at in zip(script.mails, _sending_times(account, script), strict=False):
        if sent_at >= account.now - timedelta(minutes=1):
            return
        earlier.append(_compose(account, script, scripted, sent_at, earlier))
        yield earlier[-1]


def _sending_times(account: DemoAccount, script: ConversationScript) -> Iterator[datetime]:
    zone = account.person(script.mails[0].sender).zone
    days = (account.today - account.workday(script.days)).days
    sent_at = account.moment(days, hour=9, seed=script.subject, zone=zone)
    yield sent_at
    for number, scripted in enumerate(script.mails[1:], 1):
        minutes = 2 + chance(script.subject, number, "minutes") * 50
        later = sent_at + timedelta(hours=scripted.hours, minutes=minutes)
        awake = _in_waking_hours(later, account.person(scripted.sender).zone)
        sent_at = max(sent_at + timedelta(minutes=2), awake)
        yield sent_at


def _in_waking_hours(moment: datetime, zone: str) -> datetime:
    """Move a moment at night or on a weekend to the next working morning in *zone*."""
    local = moment.astimezone(ZoneInfo(zone))
    if 7 <= local.hour < 22 and local.weekday() < 5:
        return moment
    morning = local.replace(hour=7, minute=10 + local.minute % 45)
    if local.hour >= 22:
        morning += timedelta(days=1)
    if morning.weekday() >= 5:
        morning += timedelta(days=7 - morning.weekday())
    return morning.astimezone(UTC)


def _compose(
    account: DemoAccount,
    script: ConversationScript,
    scripted: ScriptedMail,
    sent_at: datetime,
    earlier: Sequence[ComposedMail],
) -> ComposedMail:
    sender = account.person(scripted.sender)
    subject = earlier[-1].subject if earlier else script.subject
    if earlier and not subject.lower().startswith(_REPLY_PREFIXES):
        subject = f"{sender.prefix} {subject}"
    return ComposedMail(
        sender=sender,
        to=[account.recipient(key) for key in scripted.to],
        cc=[account.recipient(key) for key in scripted.cc],
        subject=subject,
        text=scripted.text,
        sent_at=sent_at,
        mailbox_address=account.address,
        message_id=_message_id(account, script, len(earlier)),
        references=[mail.message_id for mail in earlier],
        quoted=earlier[-1] if earlier and sender.quotes else None,
        attachments=scripted.attachments,
        inline_files=scripted.inline_files,
    )


def _message_id(account: DemoAccount, script: ConversationScript, number: int) -> str:
    domain = account.person(script.mails[number].sender).email.rpartition("@")[2]
    return message_id(account.mailbox, script.subject, number, domain=domain)
