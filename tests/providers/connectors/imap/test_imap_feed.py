"""Changes of a mailbox on a real Dovecot, which a second client makes."""

import imaplib
import random
import re
import ssl
from collections import Counter

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server
from mail_upstreams import raw
from run_sizes import times

from providers.failures import Inaccessible
from providers.ports.changes import MAX_POSITION, Kind, PositionExpired
from providers.ports.mail import MailQuery

STATE = frozenset({"is_read", "labels"})
OWN = ("Clients", "Filed", "Work")
LISTED = ("INBOX", "Sent", *OWN)
LIST = b'LIST "" "*" RETURN (SPECIAL-USE STATUS (MESSAGES UIDNEXT UIDVALIDITY HIGHESTMODSEQ))'


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server(layout="index") as server:
        yield server


class Client:
    """A mail program of the owner's."""

    def __init__(self, dovecot):
        context = ssl.create_default_context(cafile=str(dovecot.certificate))
        self._imap = imaplib.IMAP4_SSL("localhost", dovecot.tls_port, ssl_context=context)
        self._imap.login("ada@example.test", "ada-secret")
        self._count = 0

    def close(self):
        self._imap.shutdown()

    def deliver(self, folder="INBOX", flags=""):
        self._count += 1
        content = raw(f"Mail {self._count}").replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        self._do("append", folder, f"({flags})", None, content)

    def uids(self, folder):
        """Open a folder, and return its UIDs; none where it does not exist."""
        if self._imap.select(folder)[0] != "OK":
            return []
        return [uid.decode() for uid in self._do("uid", "SEARCH", "ALL")[0].split()]

    def flag(self, uids, flag, *, sign="+"):
        self._do("uid", "STORE", ",".join(uids), f"{sign}FLAGS", f"({flag})")

    def expunge(self, uids):
        self.flag(uids, "\\Deleted")
        self._do("uid", "EXPUNGE", ",".join(uids))

    def move(self, uids, target):
        self._do("uid", "MOVE", ",".join(uids), target)

    def folder(self, command, *names):
        """Return whether a command about folders was taken."""
        self._imap.select("INBOX")
        return getattr(self._imap, command)(*names)[0] == "OK"

    def _do(self, command, *arguments):
        status, content = getattr(self._imap, command)(*arguments)
        assert status == "OK", (command, arguments, content)
        return content


@pytest.fixture
def client(dovecot):
    client = Client(dovecot)
    yield client
    client.close()


@pytest_asyncio.fixture
async def account(dovecot):
    async with imap_account.opened(dovecot) as account:
        yield account


def without(monkeypatch, *missing):
    """Let the server seem not to know extensions."""
    note = imap_account.Session._note

    def noted(session, head):
        note(session, head)
        session.capabilities -= {*missing}

    monkeypatch.setattr(imap_account.Session, "_note", noted)


async def listing(account):
    """Return the listing without filters: id -> read state and labels."""
    emails = await account.every(MailQuery(limit=50), projection=STATE)
    return {email.id: (email.is_read, frozenset(email.labels)) for email in emails}


async def told(account, position, *, limit=100):
    """Return all changes since a position, and the last one."""
    changes = []
    while True:
        part = await account.port.changes.since(position, limit=limit)
        changes += part.changes
        assert len(part.position) <= MAX_POSITION
        position = part.position
        if not part.more:
            return changes, position
        assert part.changes


def kinds(changes):
    return sorted(change.kind.value for change in changes)


class Recorder:
    """The commands of the sessions that begin after this."""

    def __init__(self, account, dovecot):
        self._dovecot = dovecot
        account.memory.close()
        dovecot.forget_sessions("ada")
        self._read = 0

    def new(self):
        lines = self._dovecot.commands("ada").splitlines()
        before, self._read = self._read, len(lines)
        return [line.split(b" ", 2)[2] for line in lines[before:]]


async def test_a_pull_without_changes_is_one_command(account, client, dovecot):
    client.deliver()
    recorder = Recorder(account, dovecot)
    position = await account.port.changes.now()

    assert recorder.new() == [b"NAMESPACE", LIST, b"ENABLE QRESYNC"]
    for _ in range(3):
        part = await account.port.changes.since(position, limit=10)
        assert (part.changes, part.more, part.position) == ([], False, position)
        assert recorder.new() == [LIST]


async def test_only_folders_that_have_changed_are_opened(account, client, dovecot):
    client.folder("create", "Clients")
    client.deliver("Clients")
    client.deliver()
    position = await account.port.changes.now()
    recorder = Recorder(account, dovecot)
    client.deliver()
    client.flag(client.uids("INBOX")[:1], "\\Seen")
    recorder.new()

    changes, position = await told(account, position)
    first = recorder.new()
    client.expunge(client.uids("INBOX")[1:])
    recorder.new()
    again, position = await told(account, position)

    assert kinds(changes) == ["changed", "created"]
    assert [change.attributes for change in changes] == [None, frozenset()]
    assert first[:3] == [b"NAMESPACE", LIST, b"ENABLE QRESYNC"]
    assert [line.split(b" ")[0] for line in first[3:]] == [b"EXAMINE", b"UID", b"UID", b"UNSELECT"]
    assert kinds(again) == ["gone"]
    lines = recorder.new()
    assert [line.split(b" ")[0] for line in lines] == [
        *(b"LIST", b"EXAMINE", b"UID", b"UID", b"UID", b"UNSELECT")
    ]
    assert re.fullmatch(rb"UID SEARCH RETURN \(ALL\) MODSEQ \d+", lines[2])
    assert lines[3] == b"UID SEARCH RETURN (ALL) ALL"
    assert re.fullmatch(rb"UID FETCH 1:\d+ \(UID\) \(CHANGEDSINCE \d+ VANISHED\)", lines[4])
    assert (await told(account, position))[0] == []


async def test_the_trash_and_back(account, client):
    client.deliver()
    position = await account.port.changes.now()
    client.move(client.uids("INBOX"), "Trash")
    away, position = await told(account, position)
    client.move(client.uids("Trash"), "INBOX")
    back, position = await told(account, position)
    client.move(client.uids("INBOX"), "Sent")
    moved, position = await told(account, position)

    assert [kinds(changes) for changes in (away, back, moved)] == [
        ["gone"],
        ["created"],
        ["created", "gone"],
    ]
    assert away[0].id != back[0].id
    assert {change.id for change in moved if change.kind is Kind.GONE} == {back[0].id}
    assert list(await listing(account)) == [
        change.id for change in moved if change.kind is Kind.CREATED
    ]


@pytest.mark.parametrize("change", ["rename", "delete", "remake"])
async def test_a_folder_with_messages_that_is_gone_ends_the_position(account, client, change):
    client.folder("create", "Clients")
    client.deliver("Clients")
    position = await account.port.changes.now()
    client.folder(
        *(["rename", "Clients", "Filed"] if change == "rename" else ["delete", "Clients"])
    )
    if change == "remake":
        client.folder("create", "Clients")

    with pytest.raises(PositionExpired):
        await account.port.changes.since(position, limit=10)


async def test_a_folder_that_is_made_is_told_in_portions(account, client):
    position = await account.port.changes.now()
    client.folder("create", "Clients")
    for _ in range(7):
        client.deliver("Clients")

    first = await account.port.changes.since(position, limit=3)
    client.expunge(client.uids("Clients")[:1])  # after it has been told
    rest, _ = await told(account, first.position, limit=2)

    mirror = {change.id for change in first.changes}
    for change in rest:
        (mirror.discard if change.kind is Kind.GONE else mirror.add)(change.id)
    assert (len(first.changes), first.more) == (3, True)
    assert mirror == set(await listing(account))


async def test_a_folder_that_goes_while_it_is_told_ends_the_position(account, client):
    position = await account.port.changes.now()
    client.folder("create", "Clients")
    for _ in range(3):
        client.deliver("Clients")
    first = await account.port.changes.since(position, limit=2)
    client.folder("delete", "Clients")

    with pytest.raises(PositionExpired):
        await account.port.changes.since(first.position, limit=2)


@pytest.mark.parametrize("text", ["", "1", "0AAAA", "1AAAA", "1" + "A" * 99, "é"])
async def test_another_text_is_no_position(account, text):
    with pytest.raises(PositionExpired):
        await account.port.changes.since(text, limit=10)


async def test_a_server_without_condstore_is_refused(account, monkeypatch):
    position = await account.port.changes.now()
    without(monkeypatch, "CONDSTORE", "QRESYNC")
    account.memory.close()

    with pytest.raises(Inaccessible):
        await account.port.changes.now()
    with pytest.raises(Inaccessible):
        await account.port.changes.since(position, limit=10)


class History:
    """Random changes by a second client."""

    def __init__(self, client, chance):
        self._client, self._chance = client, chance
        self.steps = 0
        self.remade = 0  # changes that may end a position

    def step(self):
        self.steps += 1
        chance, client = self._chance, self._client
        folder = chance.choice(LISTED)
        step = chance.choice(self._STEPS)
        if step == "deliver":
            if client.uids(folder) or folder in {"INBOX", "Sent"}:
                client.deliver(folder, chance.choice(["", "\\Seen", "Blue"]))
            return
        if step in {"create", "rename", "delete", "remake"}:
            self._change_folder(step, chance.choice(OWN))
            return
        uids = client.uids("Trash" if step == "restore" else folder)
        some = chance.sample(uids, min(len(uids), chance.choice([1, 1, 2, 5])))
        if not some:
            return
        if step == "flag":
            flag = chance.choice(["\\Seen", "\\Flagged", "Blue", "Green", "\\Deleted"])
            client.flag(some, flag, sign=chance.choice("+-"))
        elif step == "expunge":
            client.expunge(some)
        elif step == "trash":
            client.move(some, "Trash")
        else:
            client.move(some, chance.choice(["INBOX", "Sent"]))

    def _change_folder(self, step, name):
        client = self._client
        if step == "create":
            if client.folder("create", name):
                client.deliver(name)
            return
        self.remade += 1
        if step == "rename":
            client.folder("rename", name, self._chance.choice(OWN))
            return
        client.folder("delete", name)
        if step == "remake" and client.folder("create", name):
            client.deliver(name)

    _STEPS = (
        *["deliver"] * 6,
        *["flag"] * 6,
        *["expunge"] * 3,
        *["trash", "restore", "move", "move"],
        *["create", "rename", "delete", "remake"],
    )


class Reader:
    """A reader that keeps the listing by what it is told, and begins anew where it must."""

    def __init__(self, account, history, chance):
        self._account, self._history, self._chance = account, history, chance
        self.counts = Counter()

    async def begin(self):
        self.position = await self._account.port.changes.now()
        self.mirror = await listing(self._account)
        self._remade = self._history.remade
        self._earlier = []

    async def pull(self):
        """Read some slices, sometimes from an earlier position."""
        if self._earlier and self._chance.random() < 0.2:
            self.position, self.mirror, self._remade = self._chance.choice(self._earlier)
            self.mirror = dict(self.mirror)
        for _ in range(self._chance.choice([1, 2, 100])):
            if not await self._slice():
                break

    async def finish(self):
        while await self._slice():
            pass

    async def _slice(self):
        self.counts["pulls"] += 1
        limit = self._chance.choice([1, 2, 3, 7, 100])
        try:
            part = await self._account.port.changes.since(self.position, limit=limit)
        except PositionExpired:
            assert self._history.remade > self._remade, "the position ended without a reason"
            self.counts["expired"] += 1
            await self.begin()
            return True
        self._earlier.append((self.position, dict(self.mirror), self._remade))
        self.counts["changes"] += len(part.changes)
        ids = [change.id for change in part.changes]
        assert len(set(ids)) == len(ids) <= limit
        present = await self._account.port.get_many(ids, projection=STATE)
        for change in part.changes:
            email = present.get(change.id)
            if change.kind is Kind.GONE or email is None:
                self.mirror.pop(change.id, None)
            else:
                self.mirror[change.id] = (email.is_read, frozenset(email.labels))
        self.position = part.position
        return part.more


@pytest.mark.slow
@pytest.mark.parametrize("missing", [(), ("QRESYNC",), ("QRESYNC", "ESEARCH", "LIST-STATUS")])
async def test_a_listing_and_its_changes_are_the_listing_of_later(
    account, client, monkeypatch, missing
):
    without(monkeypatch, *missing)
    account.memory.close()
    counts = Counter()
    for seed in range(times(3)):
        chance = random.Random(f"{seed} {missing}")
        history = History(client, chance)
        reader = Reader(account, history, chance)
        await reader.begin()
        for _ in range(8):
            for _ in range(chance.choice([0, 1, 3, 8])):
                history.step()
            await reader.pull()
        await reader.finish()
        assert reader.mirror == await listing(account), f"seed {seed}"
        counts.update(reader.counts)
        counts["steps"] += history.steps
    assert counts["changes"] > counts["expired"], counts
