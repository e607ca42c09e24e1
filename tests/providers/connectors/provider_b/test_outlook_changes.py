"""The changes of an Outlook mailbox: its requests, folders, and what dies."""

import time
from itertools import count

import pytest
from mail_upstreams import opened

from providers.failures import Broken, Inaccessible, ProviderFailure, Refused, Throttled
from providers.ports.changes import MAX_POSITION, Change, Kind, PositionExpired
from providers.ports.mail import MailChange
from sandbox.mail.ids import SHARED_B
from sandbox.provider_b.mailbox_rights import grant
from sandbox.provider_b.outlook_mail.folders import Folders
from sandbox.provider_b.outlook_mail.sync_states import SyncStates

HOUR = 3_600_000


class Mailbox:
    """The mailbox of an account, changed as its owner does, and its changes since a moment."""

    def __init__(self, account):
        self.account = account
        self.port = account.port.changes
        self.mails = account.sandbox.state.mails
        self.folders = Folders(account.sandbox.state.database, account.mailbox)
        self.minutes = count(1)

    def add(self, *, folder="inbox", days=1):
        """Add a message that was received *days* ago; return its id."""
        name = self.account.add(f"Mail {next(self.minutes)}")
        received = int(time.time() * 1000) - days * 24 * HOUR
        self.update(name, folder=folder, received_ms=received)
        return name

    def update(self, name, **members):
        self.mails.update(self.account.mailbox, name, **members)

    def move(self, name, folder):
        self.update(name, folder=folder, new_id=True)

    def delete(self, name):
        self.mails.delete(self.account.mailbox, name)

    async def told(self, position, limit=200):
        """The changes since a position by kind, and the position behind them."""
        told = {}
        while True:
            answer = await self.port.since(position, limit=limit)
            assert len(answer.position) <= MAX_POSITION
            for change in answer.changes:
                assert change.attributes == (None if change.kind is Kind.CHANGED else frozenset())
            told |= {change.id: change.kind for change in answer.changes}
            position = answer.position
            if not answer.more:
                return told, position


@pytest.fixture
def box(account_b):
    return Mailbox(account_b)


def outer(account):
    return [call["path"] for call in account.upstream.calls if call["batch"] is None]


async def test_a_position_takes_three_calls_and_a_quiet_mailbox_one(box):
    box.add()
    position = await box.port.now()
    assert outer(box.account) == ["/v1.0/$batch", "/v1.0/me/mailFolders/delta", "/v1.0/$batch"]
    box.account.forget_calls()

    answer = await box.port.since(position, limit=100)

    assert (list(answer.changes), answer.position, answer.more) == ([], position, False)
    assert outer(box.account) == ["/v1.0/$batch"]
    inner = [call for call in box.account.calls if call["batch"] is not None]
    assert len(inner) == 5  # inbox, archive, sent items, outbox, and the folders themselves
    assert {call["headers"]["prefer"] for call in inner} == {
        'IdType="ImmutableId", outlook.body-content-type="html", odata.maxpagesize=20'
    }
    assert all("$deltatoken" in call["query"] for call in inner)


async def test_the_first_round_selects_ids_of_the_last_thirty_days(box):
    position = await box.port.now()
    calls = [call for call in box.account.calls if call["path"].endswith("messages/delta")]

    assert {call["query"]["$select"][0] for call in calls} == {
        "id,receivedDateTime,isDraft,parentFolderId"
    }
    assert {call["query"]["$orderby"][0] for call in calls} == {"receivedDateTime desc"}
    assert {call["query"]["$filter"][0][:20] for call in calls} == {"receivedDateTime ge "}
    assert len(position) < 2_000


@pytest.mark.parametrize(("folders", "calls"), [(15, 1), (16, 2), (36, 3)])
async def test_each_twenty_folders_take_one_call(box, folders, calls):
    for number in range(folders):
        box.folders.add(f"Folder {number}", "inbox")
    position = await box.port.now()
    box.account.forget_calls()

    assert (await box.told(position))[0] == {}
    assert outer(box.account) == ["/v1.0/$batch"] * calls


async def test_a_mailbox_of_too_many_folders_says_so(box):
    for number in range(150):
        box.folders.add(f"Folder {number}", "inbox")

    with pytest.raises(Inaccessible, match="more mail folders than can be followed"):
        await box.port.now()


async def test_each_change_has_its_kind(box):
    names = [box.add() for _ in range(7)]
    trashed, junk = box.add(folder="trash"), box.add(folder="spam")
    position = await box.port.now()
    box.update(names[0], is_read=True)
    box.update(names[1], labels=("Home",))
    box.move(names[2], "trash")
    box.move(names[3], "spam")
    box.delete(names[4])
    box.move(names[5], "archive")
    box.move(trashed, "inbox")
    box.update(junk, is_read=True)
    new = box.add(days=0)
    draft = box.add(folder="drafts", days=0)

    told, _ = await box.told(position)

    assert told == {
        names[0]: Kind.CHANGED,
        names[1]: Kind.CHANGED,
        names[2]: Kind.GONE,
        names[3]: Kind.GONE,
        names[4]: Kind.GONE,
        names[5]: Kind.CHANGED,
        trashed: Kind.CHANGED,
        new: Kind.CREATED,
        **({draft: Kind.GONE} if draft in told else {}),
    }
    assert box.port.undivided == {"is_read", "labels", "importance"}


async def test_a_message_that_was_moved_there_and_back_stays(box):
    """Immutable ids: the service tells it as removed alone."""
    name = box.add()
    position = await box.port.now()
    box.move(name, "archive")
    box.move(name, "inbox")

    assert (await box.told(position))[0] == {name: Kind.CHANGED}


async def test_a_removal_costs_one_call_more(box):
    names = [box.add() for _ in range(3)]
    position = await box.port.now()
    for name in names:
        box.move(name, "trash")
    box.account.forget_calls()

    assert (await box.told(position))[0] == dict.fromkeys(names, Kind.GONE)
    assert outer(box.account) == ["/v1.0/$batch"] * 2


async def test_a_sent_draft_is_created(box):
    draft = box.add(folder="drafts", days=0)
    position = await box.port.now()
    box.update(draft, raw=b"Subject: Other\r\n\r\n")
    assert (await box.told(position))[0] == {}

    box.move(draft, "sent")

    assert (await box.told(position))[0] == {draft: Kind.CREATED}


async def test_messages_of_a_new_folder_are_told(box):
    moved = box.add()
    position = await box.port.now()
    folder = box.folders.add("Projects", "inbox")
    box.move(moved, folder.key)
    new = box.add(folder=folder.key, days=0)
    told, position = await box.told(position)
    assert told == {moved: Kind.CHANGED, new: Kind.CREATED}

    box.folders.place(folder, "Old projects", "archive")
    assert (await box.told(position))[0] == {}
    box.update(moved, is_read=True)
    assert (await box.told(position))[0] == {moved: Kind.CHANGED}


@pytest.mark.parametrize("limit", [1, 3, 200])
async def test_a_folder_in_the_trash_takes_its_messages_along_and_brings_them_back(box, limit):
    upper = box.folders.add("Projects", "inbox")
    lower = box.folders.add("Boats", upper.key)
    inside = [box.add(folder=key) for key in (upper.key, lower.key, lower.key)]
    old = box.add(folder=lower.key, days=400)
    position = await box.port.now()
    box.delete(inside[1])
    box.folders.place(upper, "Projects", "trash")
    told, position = await box.told(position, limit)
    assert told == dict.fromkeys([*inside, old], Kind.GONE)
    box.update(inside[2], is_read=True)
    assert (await box.told(position, limit))[0] == {}

    box.folders.place(upper, "Projects", "archive")

    told, _ = await box.told(position, limit)
    assert told == dict.fromkeys((inside[0], inside[2]), Kind.CHANGED)


async def test_a_folder_that_is_gone_expires_positions(box):
    folder = box.folders.add("Projects", "inbox")
    box.add(folder=folder.key)
    position = await box.port.now()
    box.folders.remove([folder.key])

    with pytest.raises(PositionExpired):
        await box.port.since(position, limit=5)
    assert (await box.told(await box.port.now()))[0] == {}


async def test_a_folder_that_comes_back_while_it_leaves_is_in_the_listing_again(box):
    folder = box.folders.add("Projects", "inbox")
    names = [box.add(folder=folder.key) for _ in range(3)]
    position = await box.port.now()
    box.folders.place(folder, "Projects", "trash")
    answer = await box.port.since(position, limit=200)
    assert answer.more  # what is in it is not read yet
    box.folders.place(folder, "Projects", "inbox")

    left = await box.port.since(answer.position, limit=200)
    told, _ = await box.told(left.position)

    assert {change.id: change.kind for change in left.changes} == dict.fromkeys(names, Kind.GONE)
    assert told == dict.fromkeys(names, Kind.CHANGED)


async def test_slices_continue_where_pages_end(box):
    position = await box.port.now()
    names = {box.add(days=0) for _ in range(23)}
    first = await box.port.since(position, limit=10)
    assert (len(first.changes), first.more) == (2, True)
    box.account.forget_calls()

    second = await box.port.since(first.position, limit=10)

    assert (len(second.changes), second.more) == (10, True)
    assert len(box.account.calls) == 1  # of the one folder that has more
    told, _ = await box.told(second.position, 10)
    assert {change.id for change in (*first.changes, *second.changes)} | told.keys() == names


async def test_old_mail_is_not_followed_but_for_its_return(box):
    old = box.add(days=40)
    position = await box.port.now()
    box.update(old, is_read=True)

    assert (await box.told(position))[0] == {}


async def test_a_mailbox_that_never_ends_its_first_round_is_followed_from_now_on(box, monkeypatch):
    monkeypatch.setattr("providers.connectors.provider_b.outlook_mail.changes.MAX_PAGE", 1)
    monkeypatch.setattr("providers.connectors.provider_b.outlook_mail.changes.MAX_ROUNDS", 12)
    old = [box.add() for _ in range(20)]
    position = await box.port.now()
    box.update(old[0], is_read=True)
    new = box.add(days=0)

    assert (await box.told(position))[0] == {new: Kind.CREATED}


async def test_a_position_can_be_read_twice_until_its_state_is_gone(box):
    position = await box.port.now()
    name = box.add(days=0)
    answers = [await box.told(position) for _ in range(2)]
    assert [told for told, _ in answers] == [{name: Kind.CREATED}] * 2

    SyncStates(box.account.sandbox.state.database, box.account.mailbox, time.time).forget()

    for old in (position, answers[1][1]):
        with pytest.raises(PositionExpired):
            await box.port.since(old, limit=5)


@pytest.mark.parametrize("position", ["", "x", "¿", "a" * 500, "c-jJ~"])
async def test_what_is_no_position_is_expired_without_a_call(box, position):
    with pytest.raises(PositionExpired):
        await box.port.since(position, limit=5)
    assert box.account.calls == []


@pytest.mark.parametrize("word", ["SyncStateNotFound", "resyncRequired", "SyncStateInvalid"])
@pytest.mark.parametrize("status", ["400", "410"])
async def test_each_word_for_a_lost_state_expires_positions(box, status, word):
    position = await box.port.now()
    box.account.fault(kind=status, match="messages/delta", reason=word)

    with pytest.raises(PositionExpired):
        await box.port.since(position, limit=5)


@pytest.mark.parametrize(
    ("kind", "failure"), [("429", Throttled), ("400", Refused), ("malformed", Broken)]
)
async def test_failures_are_those_of_every_call(box, kind, failure):
    position = await box.port.now()
    box.account.fault(kind=kind, match="messages/delta", retryAfter=9_000)

    with pytest.raises(failure):
        await box.port.since(position, limit=5)


async def test_a_throttled_part_is_asked_again(box):
    position = await box.port.now()
    name = box.add(days=0)
    box.account.fault(kind="429", match="messages/delta", retryAfter=1, count=1)

    assert (await box.told(position))[0] == {name: Kind.CREATED}


async def test_a_change_by_the_gateway_is_told(box):
    name = box.add()
    position = await box.port.now()
    await box.account.port.change(name, MailChange(read=True))
    told = await box.port.since(position, limit=50)
    assert list(told.changes) == [Change(id=name, kind=Kind.CHANGED, attributes=None)]

    await box.account.port.trash(name)
    assert (await box.told(told.position))[0] == {name: Kind.GONE}


async def test_a_shared_mailbox_is_followed_until_the_right_is_lost():
    async with opened("PROVIDER_B", rights=("full-access",)) as account:
        box = Mailbox(account)
        position = await box.port.now()
        name = box.add(days=0)
        assert (await box.told(position))[0] == {name: Kind.CREATED}
        grant(account.sandbox.state.database, SHARED_B, "me@provider-b.example", ())

        with pytest.raises(ProviderFailure):
            await box.port.now()
