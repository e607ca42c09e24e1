"""The times of a folder's messages are read once, and follow what comes and goes."""

import random
from datetime import UTC, datetime, timedelta

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server
from mail_upstreams import NOON, raw

from providers.connectors.imap import folder_index
from providers.connectors.imap.folder_index import FolderIndex
from providers.connectors.imap.folders import read_folders
from providers.failures import Unreachable
from providers.mail import scanning
from providers.ports.mail import MailQuery
from providers.records.base import to_epoch_ms

MESSAGES = 60
PORTIONS = [25, 25, 10]  # of the messages, each for one command
SUBJECT = frozenset({"subject"})
INBOX = b"INBOX"


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest_asyncio.fixture
async def account(dovecot, monkeypatch):
    """A mailbox that takes several commands, in no order and with ties."""
    monkeypatch.setattr(folder_index, "_ROWS_PER_COMMAND", 25)
    async with imap_account.opened(dovecot) as account:
        chance = random.Random(19)
        await append(account, [(n, chance.randrange(25)) for n in range(MESSAGES)])
        yield account


async def append(account, mails, folder="INBOX"):
    """Append messages of (number, hours after noon) in one command; one in three is unread."""
    parts = []
    for number, hours in mails:
        received = NOON + timedelta(hours=hours)
        parts += [
            "(\\Seen)" if number % 3 else "()",
            received.strftime('"%d-%b-%Y %H:%M:%S +0000"'),
            raw(f"Mail {number}").replace(b"\n", b"\r\n"),
        ]
    await account.session.command("APPEND", folder, *parts)


async def remove(account, sequence_set):
    await account.session.command("SELECT", "INBOX")
    await account.session.command(f"STORE {sequence_set} +FLAGS.SILENT (\\Deleted)")
    await account.session.command("CLOSE")


def forget(account):
    account.memory.indexes.clear()


async def pages(account, query, between=None):
    """Every page of a search: ids, received times and the total, and how far it looked."""
    read, after = [], None
    while True:
        answer = await account.port.search(query, after=after, projection=SUBJECT)
        read.append(([email.id for email in answer.emails], answer.total, answer.total_exact))
        if answer.exhausted:
            return read
        after = answer.scanned_to or scanning.position(answer.emails[-1])
        if between is not None:
            await between()


QUERIES = {
    "all": {},
    "one label": {"label": "INBOX"},
    "unread": {"unread": True},
    "since": {"after": NOON + timedelta(hours=9)},
    "until": {"before": NOON + timedelta(hours=9)},
    "between": {"after": NOON + timedelta(hours=5), "before": NOON + timedelta(hours=15)},
    "a word": {"subject": "Mail"},
    "attachments": {"has_attachment": False},
    "nothing": {"after": NOON + timedelta(days=9)},
    "of any time": {
        "after": datetime.min.replace(tzinfo=UTC),
        "before": datetime.max.replace(tzinfo=UTC),
    },
    "before the epoch": {"before": datetime(1960, 1, 1, tzinfo=UTC)},
    "after all times": {"after": datetime.max.replace(tzinfo=UTC)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("limit", [1, 7, 50])
async def test_pages_are_those_of_a_folder_that_is_read_anew(account, name, limit):
    query = MailQuery(limit=limit, **QUERIES[name])

    async def start_over():  # each page is then the first one of a process
        forget(account)

    read = await pages(account, query)
    forget(account)

    assert read == await pages(account, query, between=start_over)


async def test_times_are_read_once(account, dovecot):
    account.memory.pool.close()
    dovecot.forget_sessions("ada")

    for query in (MailQuery(limit=3), MailQuery(limit=9), MailQuery(limit=3, subject="Mail 17")):
        await account.port.search(query, after=None, projection=SUBJECT)
    lines = [line.split(b" ", 2)[2] for line in dovecot.commands("ada").splitlines()]

    ranges = [
        list(map(int, line.split(b" ")[2].split(b":")))
        for line in lines
        if line.endswith(b"(UID INTERNALDATE)")
    ]
    assert [last - first + 1 for first, last in ranges] == PORTIONS


async def test_what_was_read_before_a_command_failed_is_kept(account, monkeypatch):
    account.memory.pool.close()
    command, asked = imap_account.Session.command, []

    async def fail_once(session, *parts, **options):
        if "INTERNALDATE)" in parts[0] and "UID FETCH" in parts[0]:
            asked.append(parts[0])
            if len(asked) == 2:
                raise Unreachable
        return await command(session, *parts, **options)

    monkeypatch.setattr(imap_account.Session, "command", fail_once)
    with pytest.raises(Unreachable):
        await account.port.search(MailQuery(limit=3), after=None, projection=SUBJECT)
    await account.port.search(MailQuery(limit=3), after=None, projection=SUBJECT)

    assert len({rows for rows in asked if "(UID INTERNALDATE)" in rows}) == len(PORTIONS)
    assert len(account.memory.indexes[INBOX]._times) == MESSAGES


@pytest.mark.slow
@pytest.mark.parametrize("sequence_set", ["1", "60", "2:30", "1:60"])
@pytest.mark.parametrize("limit", [3, 12])
async def test_removed_messages_leave_pages_and_counts(account, sequence_set, limit):
    before = await pages(account, MailQuery(limit=60))
    forget(account)
    await account.port.search(MailQuery(limit=limit), after=None, projection=SUBJECT)
    await remove(account, sequence_set)

    read = await pages(account, MailQuery(limit=limit))
    forget(account)
    assert read == await pages(account, MailQuery(limit=limit))
    assert sum(len(ids) for ids, _, _ in read) == read[0][1] < len(before[0][0])


@pytest.mark.slow
async def test_mail_that_arrives_with_an_old_date_stands_in_its_place(account):
    """A move keeps the received time and gives a new UID."""
    await account.port.search(MailQuery(limit=3), after=None, projection=SUBJECT)
    await append(account, [(100, -50), (101, 12), (102, 50)])

    read = await pages(account, MailQuery(limit=5))
    forget(account)
    assert read == await pages(account, MailQuery(limit=5))
    assert read[0][1] == MESSAGES + 3


@pytest.mark.slow
async def test_mail_that_comes_and_goes_between_pages_changes_no_others(account):
    expected = {id_ for ids, _, _ in await pages(account, MailQuery(limit=60)) for id_ in ids}
    forget(account)
    numbers = iter(range(1000, 2000))

    async def change():
        number = next(numbers)
        await append(account, [(number, 40 + number % 7)])
        await account.session.command("SELECT", "INBOX")
        if number % 2:  # the message that has come before goes
            await account.session.command("STORE * +FLAGS.SILENT (\\Deleted)")
        await account.session.command("CLOSE")

    read = [id_ for ids, _, _ in await pages(account, MailQuery(limit=4), change) for id_ in ids]

    assert len(read) == len(set(read))
    assert set(read) == expected


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 6, 60])
async def test_a_large_folder_is_merged_with_another_large_one(account, limit):
    chance = random.Random(7)
    await account.session.command("CREATE", "Client")
    await append(account, [(n, chance.randrange(25)) for n in range(MESSAGES)], folder="Client")

    emails = await account.every(MailQuery(limit=limit), projection=SUBJECT)

    assert len({email.id for email in emails}) == 2 * MESSAGES
    ranks = [(-to_epoch_ms(email.received_at), email.id) for email in emails]
    assert ranks == sorted(ranks)


@pytest.mark.slow
async def test_messages_of_one_second_at_the_end_of_a_page_are_complete(account):
    await append(account, [(n, 100) for n in range(200, 230)])

    emails = await account.every(MailQuery(limit=4, after=NOON), projection=SUBJECT)
    newest = [email for email in emails if email.received_at == NOON + timedelta(hours=100)]

    assert len(newest) == 30
    assert newest == emails[:30]
    assert [email.id for email in newest] == sorted(email.id for email in newest)


async def test_an_older_state_of_a_folder_takes_nothing_away(account):
    """One of two requests has listed the folders before a message came, and goes on later."""
    session, index = account.session, FolderIndex()
    earlier = await imap_account.Session.connect(account.account)
    await earlier.command("EXAMINE INBOX")
    old = next(folder for folder in await read_folders(earlier) if folder.name == INBOX)
    await append(account, [(300, 100)])
    await session.command("EXAMINE INBOX")
    new = next(folder for folder in await read_folders(session) if folder.name == INBOX)
    times = [await index.read(*state) for state in ((session, new), (earlier, old), (session, new))]

    assert [len(known) for known in times] == [MESSAGES + 1] * 3
    assert {next(iter(known.newest_first()))[1] for known in times} == {new.uid_next - 1}
    earlier.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_any_sequence_of_changes_and_searches_is_read_as_anew(account, seed):
    chance = random.Random(seed)
    queries = [
        {},
        {"unread": True},
        {"subject": "1"},
        {"after": NOON + timedelta(hours=15)},
        {"before": NOON + timedelta(hours=8)},
    ]

    async def moved():
        """Move a message to another folder and back: its UID is another one then."""
        await account.session.command("SELECT", "INBOX")
        await account.session.command(f"MOVE {chance.randrange(1, 10)} Archive")
        await account.session.command("SELECT", "Archive")
        await account.session.command("MOVE 1 INBOX")
        await account.session.command("CLOSE")

    await account.session.command("CREATE", "Archive")
    for step in range(12):
        change = chance.randrange(5)
        if change == 0:
            await append(account, [(100 + step, chance.randrange(30))])
        elif change == 1:
            await remove(account, str(chance.randrange(1, 20)))
        elif change == 2:
            await moved()
        query = MailQuery(limit=chance.choice([1, 4, 15]), **chance.choice(queries))

        answer = await account.port.search(query, after=None, projection=SUBJECT)
        kept = account.memory.indexes.copy()
        forget(account)
        assert answer == await account.port.search(query, after=None, projection=SUBJECT)
        account.memory.indexes.update(kept)


@pytest.mark.slow
async def test_folders_that_are_gone_are_forgotten(account):
    await account.session.command("CREATE", "Client")
    await append(account, [(1, 1)], folder="Client")
    await account.subjects(limit=5)
    assert b"Client" in account.memory.indexes
    await account.session.command("DELETE", "Client")
    await account.subjects(limit=5)

    assert b"Client" not in account.memory.indexes
