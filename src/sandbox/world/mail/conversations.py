"""Stories as mail: who answers when, under which subject, with which references."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sandbox.mail.store import NewMail
from sandbox.world.mail.correspondence import Writing, message_id
from sandbox.world.mail.deliveries import Desk, awake, chance, delivered
from sandbox.world.mail.screenplays import Story, Turn

ARCHIVED_AFTER_DAYS = 150  # conversations that began earlier have left the inbox

_ANSWERED = ("re:", "aw:", "sv:", "re :", "odp:", "fwd:")


def conversation(desk: Desk, story: Story) -> Iterator[NewMail]:
    """Yield the mails of *story* that have happened by *desk*'s day, oldest first."""
    writings = list(_writings(desk, story))
    for writing in writings:
        starred = story.starred and writing is writings[-1]
        archived = story.days > ARCHIVED_AFTER_DAYS
        yield delivered(desk, writing, labels=story.labels, starred=starred, archived=archived)


def _writings(desk: Desk, story: Story) -> Iterator[Writing]:
    earlier: list[Writing] = []
    for turn, at in zip(story.turns, _moments(desk, story), strict=False):
        if at >= desk.end - timedelta(minutes=1):
            return
        earlier.append(_writing(desk, story, turn, at, earlier))
        yield earlier[-1]


def _moments(desk: Desk, story: Story) -> Iterator[datetime]:
    zone = desk.person(story.turns[0].sender).zone
    days = (desk.today - desk.workday(story.days)).days
    at = desk.moment(days, hour=9, seed=story.subject, zone=zone)
    yield at
    for place, turn in enumerate(story.turns[1:], 1):
        minutes = 2 + chance(story.subject, place, "minutes") * 50
        later = at + timedelta(hours=turn.hours, minutes=minutes)
        at = max(at + timedelta(minutes=2), awake(later, desk.person(turn.sender).zone))
        yield at


def _writing(
    desk: Desk, story: Story, turn: Turn, at: datetime, earlier: Sequence[Writing]
) -> Writing:
    sender = desk.person(turn.sender)
    subject = earlier[-1].subject if earlier else story.subject
    if earlier and not subject.lower().startswith(_ANSWERED):
        subject = f"{sender.prefix} {subject}"
    domain = sender.email.rpartition("@")[2]
    return Writing(
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
