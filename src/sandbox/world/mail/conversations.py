"""Stories as mail: who answers when, under which subject, with which references."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sandbox.mail.store import NewMail
from sandbox.world.mail.correspondence import ComposedMail, message_id
from sandbox.world.mail.deliveries import DemoAccount, chance, deliver, in_waking_hours
from sandbox.world.mail.screenplays import ConversationScript, ScriptedMail

ARCHIVED_AFTER_DAYS = 150  # conversations that began earlier have left the inbox

_ANSWERED = ("re:", "aw:", "sv:", "re :", "odp:", "fwd:")


def conversation_mails(desk: DemoAccount, story: ConversationScript) -> Iterator[NewMail]:
    """Yield the mails of *story* that have happened by *desk*'s day, oldest first."""
    writings = list(_writings(desk, story))
    for writing in writings:
        starred = story.starred and writing is writings[-1]
        archived = story.days > ARCHIVED_AFTER_DAYS
        yield deliver(desk, writing, labels=story.labels, starred=starred, archived=archived)


def _writings(desk: DemoAccount, story: ConversationScript) -> Iterator[ComposedMail]:
    earlier: list[ComposedMail] = []
    for turn, at in zip(story.turns, _moments(desk, story), strict=False):
        if at >= desk.end - timedelta(minutes=1):
            return
        earlier.append(_writing(desk, story, turn, at, earlier))
        yield earlier[-1]


def _moments(desk: DemoAccount, story: ConversationScript) -> Iterator[datetime]:
    zone = desk.person(story.turns[0].sender).zone
    days = (desk.today - desk.workday(story.days)).days
    at = desk.moment(days, hour=9, seed=story.subject, zone=zone)
    yield at
    for place, turn in enumerate(story.turns[1:], 1):
        minutes = 2 + chance(story.subject, place, "minutes") * 50
        later = at + timedelta(hours=turn.hours, minutes=minutes)
        at = max(at + timedelta(minutes=2), in_waking_hours(later, desk.person(turn.sender).zone))
        yield at


def _writing(
    desk: DemoAccount,
    story: ConversationScript,
    turn: ScriptedMail,
    at: datetime,
    earlier: Sequence[ComposedMail],
) -> ComposedMail:
    sender = desk.person(turn.sender)
    subject = earlier[-1].subject if earlier else story.subject
    if earlier and not subject.lower().startswith(_ANSWERED):
        subject = f"{sender.prefix} {subject}"
    domain = sender.email.rpartition("@")[2]
    return ComposedMail(
        sender=sender,
        to=[desk.receiver(key) for key in turn.to],
        cc=[desk.receiver(key) for key in turn.cc],
        subject=subject,
        text=turn.text,
        at=at,
        account=desk.account,
        message_id=message_id(desk.mailbox, story.subject, len(earlier), domain=domain),
        references=[one.message_id for one in earlier],
        quoted=earlier[-1] if earlier and sender.quotes else None,
        attached=turn.attached,
        inline=turn.inline,
    )
