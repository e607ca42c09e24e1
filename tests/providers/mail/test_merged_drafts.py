"""Drafts of several mailboxes of one provider, whose ids are their versions as on own servers."""

import pytest

from providers.failures import Missing, Stale
from providers.mail.drafts.merged_drafts import MergedDrafts
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.connection import ConnectionInfo
from providers.ports.drafts import DraftChange, DraftIdentity


class Box:
    """A mailbox, and its drafts: one, which has no attachment."""

    def __init__(self, holds):
        self.holds, self.drafts = holds, self

    async def locate(self, draft_id):
        if draft_id != self.holds:
            raise Missing
        return DraftIdentity(draft_id, draft_id, version=draft_id)

    async def trash(self, message_id):
        self.holds = None

    async def update(self, identity, change):
        if change.removed:
            raise Missing
        self.holds = f"{identity.id}2"
        return await self.locate(self.holds)


def compares_nothing(connection):
    del connection
    return frozenset()


def drafts_of(*boxes):
    infos = [
        ConnectionInfo(
            id=number,
            resource_id=1,
            kind="email",
            provider="IMAP",
            account_email=f"{number}@x.example",
            can_write=True,
        )
        for number in range(len(boxes))
    ]
    return MergedDrafts(MergedMailbox(list(zip(infos, boxes, strict=True))))


async def test_the_seen_version_is_looked_for_in_every_mailbox():
    box = Box("y")

    changed = await drafts_of(Box("x"), box, Box("z")).update(
        "imap:y", DraftChange(subject="New"), "y", None, compares_nothing
    )

    assert (changed.id, box.holds) == ("imap:y2", "y2")


@pytest.mark.parametrize(("version", "failure"), [("y", Stale), ("q", Missing), (None, Missing)])
async def test_a_draft_that_no_mailbox_has_was_changed_where_its_id_is_the_version(
    version, failure
):
    boxes = Box("x"), Box("z")

    with pytest.raises(failure):
        await drafts_of(*boxes).trash("imap:y", version, compares_nothing)

    assert [box.holds for box in boxes] == ["x", "z"]


async def test_an_unknown_attachment_of_the_seen_version_is_missing():
    with pytest.raises(Missing):
        await drafts_of(Box("x"), Box("y"), Box("z")).update(
            "imap:y", DraftChange(removed=("y.9",)), "y", None, compares_nothing
        )
