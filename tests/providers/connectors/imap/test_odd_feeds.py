"""Changes as servers tell them that behave as public reports say; each test names its report."""

import random

import changing_imap
import msgspec
import pytest
from changing_imap import ALL

from providers.connectors.imap.changes import positions
from providers.connectors.imap.changes.positions import FolderState, Position
from providers.connectors.imap.message_ids import Location
from providers.failures import Inaccessible, TooMuch
from providers.ports.changes import MAX_POSITION, PositionExpired

CONDSTORE = ALL.removesuffix(" QRESYNC")


async def told(server, mailbox, ids, position, limit=100):
    """Return the next slice as UID -> kind, and its position."""
    server.heard.clear()
    part = await mailbox.changes.since(position, limit=limit)
    return {ids.location(change.id).uid: change.kind for change in part.changes}, part.position


def words(server):
    """Return the commands that were heard, their names alone."""
    return [" ".join(line.split(" ")[: 1 + line.startswith("UID")]) for line in server.heard]


async def test_an_orderly_server():
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(4)
        position = await mailbox.changes.now()
        server.flag(1)
        server.expunge(2, 4)
        server.deliver()
        changes, position = await told(server, mailbox, ids, position)
        commands, asked = words(server), server.heard[-2]
        again, _ = await told(server, mailbox, ids, position)

    assert changes == {1: "changed", 2: "gone", 4: "gone", 5: "created"}
    assert commands == [*("LIST", "EXAMINE", "UID SEARCH", "UID SEARCH", "UID FETCH", "UNSELECT")]
    # The last message that is there is 5, and `*` is it: cyrusimap/cyrus-imapd#6071. What has
    # changed is not asked for, so that its row does not come.
    assert asked == "UID FETCH 2:4 (UID) (CHANGEDSINCE 5 VANISHED)"
    assert (again, words(server)) == ({}, ["LIST"])


async def test_the_last_messages_that_are_gone_are_asked_for_by_number():
    """A server may take `1:*` for the messages that are there: cyrusimap/cyrus-imapd#6071."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(3)
        position = await mailbox.changes.now()
        server.expunge(3)
        changes, _ = await told(server, mailbox, ids, position)

    assert changes == {3: "gone"}


async def test_messages_that_are_there_are_not_gone():
    """A server may tell all old messages as gone: apache/james-project#629."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(5)
        position = await mailbox.changes.now()
        server.expunge(2)
        server.answers["UID FETCH"] = lambda _: b"* VANISHED (EARLIER) 1:5\r\n"
        changes, _ = await told(server, mailbox, ids, position)

    assert changes == {2: "gone"}


async def test_what_was_gone_before_may_be_told_again():
    """So a server without a history tells it (RFC 7162, 3.2.6; nextcloud/mail#11908)."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(9)
        server.expunge(1, 2, 3)
        position = await mailbox.changes.now()
        server.expunge(7)
        server.answers["UID FETCH"] = lambda _: b"* VANISHED (EARLIER) 1:3,7,4000000000\r\n"
        changes, _ = await told(server, mailbox, ids, position)

    assert changes == dict.fromkeys((1, 2, 3, 7), "gone")


@pytest.mark.parametrize(
    "answer",
    [
        b"",  # what another command of the session has told: Foundry376/Mailspring-Sync#98
        b"* VANISHED (EARLIER) \r\n",  # apache/james-project#909
        b"* VANISHED (EARLIER) 2:x\r\n",
        b"* VANISHED (EARLIER) 1\r\n* 2 FETCH (FLAGS ())\r\n",
        b"* VANISHED (EARLIER) 1:4294967295\r\n",
    ],
)
async def test_an_answer_that_does_not_tell_what_is_missing_ends_the_position(answer):
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(5)
        position = await mailbox.changes.now()
        server.expunge(2, 3)
        server.answers["UID FETCH"] = lambda _: answer

        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, position)


async def test_very_many_that_were_gone_before_end_the_position():
    async with changing_imap.opened() as (server, mailbox, ids):
        server.uid_next = 20_000
        server.deliver(2)
        position = await mailbox.changes.now()
        server.expunge(20_000)
        server.answers["UID FETCH"] = lambda _: b"* VANISHED (EARLIER) 1:20000\r\n"

        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, position)


async def test_an_empty_folder_without_a_number():
    """HIGHESTMODSEQ is 0 where a folder is empty: Purelymail/purelymail-issues#446."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.mod_seq = 0
        position = await mailbox.changes.now()
        server.mod_seq = 7
        server.deliver(2)
        arrived, position = await told(server, mailbox, ids, position)
        server.expunge(1, 2)
        server.mod_seq = 0
        left, position = await told(server, mailbox, ids, position)
        server.mod_seq = 10
        server.deliver()
        back, _ = await told(server, mailbox, ids, position)

    assert (arrived, left, back) == (
        {1: "created", 2: "created"},
        {1: "gone", 2: "gone"},
        {3: "created"},
    )


async def test_a_folder_without_numbers_is_refused():
    """HIGHESTMODSEQ 0 means that the server does not keep it (RFC 7162, 7)."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver()
        position = await mailbox.changes.now()
        server.mod_seq = 0

        with pytest.raises(Inaccessible):
            await mailbox.changes.now()
        with pytest.raises(Inaccessible):
            await told(server, mailbox, ids, position)


async def test_numbers_without_the_extension_say_nothing():
    """A server may tell HIGHESTMODSEQ without CONDSTORE: whiteout-io/imap-client#40."""
    async with changing_imap.opened() as (server, mailbox, _):
        server.capabilities = "IMAP4rev1 LIST-STATUS UNSELECT"
        server.deliver()

        with pytest.raises(Inaccessible):
            await mailbox.changes.now()
        assert words(server) == ["CAPABILITY", "LOGIN", "CAPABILITY"]


@pytest.mark.parametrize("name", ["mod_seq", "uid_next", "uid_validity"])
async def test_a_folder_that_was_restored_ends_the_position(name):
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(3)
        position = await mailbox.changes.now()
        setattr(server, name, getattr(server, name) - 1)

        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, position)


async def test_more_old_messages_than_there_were_end_the_position():
    async with changing_imap.opened() as (server, mailbox, ids):
        server.uid_next = 9
        server.deliver()
        position = await mailbox.changes.now()
        server.present[3] = 1
        server.mod_seq += 1

        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, position)


def without_vanished(server):
    server.capabilities = CONDSTORE


def that_does_not_enable(server):
    """So does iCloud: Foundry376/Mailspring-Sync#91."""
    server.answers["ENABLE"] = lambda _: b""


@pytest.mark.parametrize("change", [without_vanished, that_does_not_enable])
async def test_a_server_that_does_not_tell_what_is_gone(change):
    async with changing_imap.opened(change) as (server, mailbox, ids):
        server.deliver(4)
        position = await mailbox.changes.now()
        server.flag(1)
        server.expunge(2, 4)
        server.deliver()
        changes, position = await told(server, mailbox, ids, position)
        commands = words(server)
        again, _ = await told(server, mailbox, ids, position)

    assert changes == {1: "changed", 2: "gone", 4: "gone", 5: "created"}
    assert commands == ["LIST", "EXAMINE", "UID SEARCH", "UID SEARCH", "UNSELECT"]
    assert (again, words(server)) == ({}, ["LIST"])


async def test_a_server_that_does_not_know_what_it_has_enabled():
    """A proxy refuses VANISHED: cyrusimap/cyrus-imapd#4787. The next position does without."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver(3)
        position = await mailbox.changes.now()
        server.expunge(2)
        server.refused.add("UID FETCH")
        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, position)
        position = await mailbox.changes.now()
        server.expunge(1)
        changes, _ = await told(server, mailbox, ids, position)

    assert changes == {1: "gone"}


async def test_a_server_that_cannot_search_by_numbers():
    async with changing_imap.opened() as (server, mailbox, ids):
        server.deliver()
        position = await mailbox.changes.now()
        server.flag(1)
        server.refused.add("UID SEARCH RETURN (ALL) MODSEQ")

        with pytest.raises(Inaccessible):
            await told(server, mailbox, ids, position)


def of_gmail(server):
    server.capabilities = f"{CONDSTORE} SPECIAL-USE X-GM-EXT-1"
    server.folder = b'(\\All) "/" "[Gmail]/All Mail"'


async def test_all_mail_of_gmail():
    """Its drafts are no messages of the listing; one becomes a message when it is sent."""
    async with changing_imap.opened(of_gmail) as (server, mailbox, ids):
        server.deliver(3)
        server.drafts |= {2, 3}
        position = await mailbox.changes.now()
        server.flag(1)
        server.flag(2)
        server.drafts.remove(3)
        server.flag(3)
        server.deliver(2)
        server.drafts.add(5)
        first, position = await told(server, mailbox, ids, position)
        server.expunge(1, 2)
        second, _ = await told(server, mailbox, ids, position)

    assert first == {1: "changed", 3: "created", 4: "created"}
    assert second == {1: "gone"}


async def test_a_server_without_list_status_is_asked_folder_by_folder():
    async with changing_imap.opened() as (server, mailbox, ids):
        server.capabilities = ALL.replace("LIST-STATUS ", "")
        server.deliver()
        position = await mailbox.changes.now()

        assert (await told(server, mailbox, ids, position))[0] == {}
        assert words(server) == ["LIST", "STATUS"]


async def test_the_numbers_of_an_open_folder_are_not_read():
    """They stay as they were when it was opened: warmbly/warmbly#180, lefcha/imapfilter#136."""
    async with changing_imap.opened() as (server, mailbox, ids):
        server.capabilities = ALL.replace("UNSELECT ", "")
        server.deliver()
        position = await mailbox.changes.now()
        server.flag(1)
        server.answers["UID SEARCH"] = lambda _: b'* ESEARCH (TAG "x") UID ALL nonsense\r\n'
        with pytest.raises(Exception, match="not valid"):
            await told(server, mailbox, ids, position)
        server.answers["UID SEARCH"] = server.found

        assert (await told(server, mailbox, ids, position))[0] == {1: "changed"}
        assert words(server)[:3] == ["CLOSE", "LIST", "EXAMINE"]


def state(number, uids=None):
    return FolderState(
        name=positions.digest(b"Folder %d" % number),
        uid_validity=2**32 - number,
        uid_next=2**20 + number * 977,
        messages=2**16 + number * 31,
        mod_seq=2**34 + number * 104_729,
        uids=uids,
    )


async def test_a_thousand_folders_have_room():
    position = Position(folders=tuple(map(state, range(1000))))

    text = await positions.write(position)

    assert len(text) <= MAX_POSITION
    assert positions.read(text) == position


@pytest.mark.parametrize("uids", [set(), {1}, {2}, {1, 2, 5}, {2**32 - 1}, {*range(3, 900, 2)}])
def test_uids_come_back(uids):
    assert positions.unpack(positions.pack(uids)) == uids


async def test_the_largest_sets_of_uids_are_left_out():
    """Random holes, which do not compress: one of two such folders has room."""
    chance = random.Random(1)
    large, small = (tuple(chance.choices(range(1, 128), k=size)) for size in (24_000, 20_000))
    folders = (state(1, (5, 2)), state(2, large), state(3, small))

    text = await positions.write(Position(folders=folders))
    uids = [folder.uids for folder in positions.read(text).folders]

    assert len(text) <= MAX_POSITION
    assert uids == [(5, 2), None, small]
    with pytest.raises(TooMuch):
        await positions.write(Position(folders=tuple(map(state, range(3000)))))


async def test_without_its_set_a_folder_tells_what_it_can(monkeypatch):
    async with changing_imap.opened(without_vanished) as (server, mailbox, ids):
        server.deliver(3)
        position = positions.read(await mailbox.changes.now())
        (folder,) = position.folders
        bare = Position(folders=(msgspec.structs.replace(folder, uids=None),))
        server.flag(1)
        server.deliver()
        changes, _ = await told(server, mailbox, ids, await positions.write(bare))
        server.expunge(2)

        with pytest.raises(PositionExpired):
            await told(server, mailbox, ids, await positions.write(bare))

    assert changes == {1: "changed", 4: "created"}


async def test_ids_are_those_of_the_listing():
    async with changing_imap.opened() as (server, mailbox, ids):
        position = await mailbox.changes.now()
        server.deliver()
        part = await mailbox.changes.since(position, limit=1)

    assert [change.id for change in part.changes] == [ids.message_id(Location(b"INBOX", 7, 1))]
