"""
Listing of a moment and changes since then = listing of now, over random histories.

`TIMES=400 pytest -n 0 -m slow PATH` runs 10,000 histories.
"""

import random
import time
from dataclasses import dataclass, field

import pytest
from mail_upstreams import opened
from run_sizes import times

from providers.ports.changes import MAX_POSITION, Kind, PositionExpired
from providers.ports.mail import MailQuery
from sandbox.provider_b.outlook_mail.folders import FolderExists, Folders

HISTORIES = 25  # of each provider
SHOWN = frozenset({"is_read", "labels", "importance"})
PLACES = ("inbox", "archive", "sent", "trash", "spam")
LABELS = ("Home", "Work", "Boats")
HOUR = 3_600_000


@dataclass
class Reader:
    """A program that keeps a listing up to date, and the listings that it had at positions."""

    mirror: dict
    position: str
    past: list = field(default_factory=list)


class History:
    """A mailbox to which things happen."""

    def __init__(self, account, rng):
        self.account = account
        self.rng = rng
        self.mails = account.sandbox.state.mails
        self.is_gmail = account.mailbox == "provider-a"
        self.folders = Folders(account.sandbox.state.database, account.mailbox)
        self.now_ms = int(time.time() * 1000)
        self.number = 0
        self.has_deleted_labels = False
        self.touched = {}  # id of a message -> the attributes that were changed

    def every(self):
        return self.mails.all(self.account.mailbox)

    def arrive(self):
        self.number += 1
        age = self.rng.choice((0, 0, 1, 48, 300))
        name = self.account.add(
            f"Mail {self.number}", folder=self.rng.choice((*PLACES, "inbox", "inbox", "drafts"))
        )
        self.update(name, received_ms=self.now_ms - age * HOUR)

    def update(self, name, **members):
        touched = "is_read" if "is_read" in members else "labels"
        self.touched.setdefault(name, set()).add(touched)
        self.mails.update(self.account.mailbox, name, **members)

    def read(self, mail):
        self.update(mail.id, is_read=not mail.is_read)

    def star(self, mail):
        self.update(mail.id, is_starred=not mail.is_starred)

    def label(self, mail):
        name = self.rng.choice(LABELS)
        self.mails.add_label(self.account.mailbox, name)
        self.update(mail.id, labels=tuple({*mail.labels} ^ {name}))

    def unlabel_all(self, _):
        if self.is_gmail and (known := self.mails.user_labels(self.account.mailbox)):
            self.has_deleted_labels = True
            self.mails.delete_label(self.account.mailbox, self.rng.choice(known).name)

    def move(self, mail):
        places = [*PLACES, *(folder.key for folder in self.made())]
        place = self.rng.choice(places)
        if mail.folder != "drafts":
            self.update(mail.id, folder=place, new_id=not self.is_gmail)

    def there_and_back(self, mail):
        if mail.folder != "drafts":
            self.touched.setdefault(mail.id, set()).add("labels")
            for place in (self.rng.choice(PLACES), mail.folder):
                mail = self.mails.update(
                    self.account.mailbox, mail.id, folder=place, new_id=not self.is_gmail
                )

    def delete(self, mail):
        self.mails.delete(self.account.mailbox, mail.id)

    def edit_draft(self, mail):
        if mail.folder == "drafts":
            self.update(mail.id, raw=mail.raw + b"x", new_id=self.is_gmail)

    def send_draft(self, mail):
        if mail.folder == "drafts" and self.is_gmail:
            self.mails.add(self.account.mailbox, mail.raw, folder="sent", is_read=True)
            self.delete(mail)
        elif mail.folder == "drafts":
            self.update(mail.id, folder="sent", new_id=True, received_ms=self.now_ms)

    def made(self):
        if self.is_gmail:
            return []
        return [folder for folder in self.folders.all() if folder.key.startswith("folder:")]

    def change_folders(self, _):
        if self.is_gmail:
            return
        made = self.made()
        name = self.rng.choice(("Projects", "Old", "Boats"))
        parents = [*PLACES[:2], "trash", *(folder.key for folder in made)]
        try:
            if not made or self.rng.random() < 0.5:
                self.folders.add(name, self.rng.choice(parents))
            else:
                folder = self.rng.choice(made)
                self.folders.place(folder, name, self.rng.choice(("inbox", "archive", "trash")))
        except FolderExists:
            pass

    def happen(self):
        """Let one thing happen."""
        mails = self.every()
        if not mails or self.rng.random() < 0.25:
            self.arrive()
            return
        acts = (self.read, self.read, self.label, self.move, self.move, self.there_and_back)
        rare = (self.star, self.delete, self.edit_draft, self.send_draft, self.unlabel_all)
        act = self.rng.choice((*acts, *rare, self.change_folders))
        act(self.rng.choice(mails))

    async def listing(self):
        """Return the list of a search without filters, by id."""
        cache = self.account.port._cache  # for an hour, and labels for ten minutes
        if self.is_gmail:
            cache.labels.read_at = None
        else:
            cache.folders_until = 0.0
        emails = await self.account.every(MailQuery(limit=50), projection=SHOWN)
        return {email.id: shown(email) for email in emails}

    async def begin(self):
        position = await self.account.port.changes.now()
        return Reader(await self.listing(), position)

    async def catch_up(self, reader, *, between=lambda: None):
        """Read slices to the end; return what they told of each object, and their number."""
        port = self.account.port.changes
        told, slices, more = {}, 0, True
        while more:
            answer = await port.since(reader.position, limit=self.rng.choice((1, 2, 5, 100)))
            assert len(answer.position) <= MAX_POSITION
            assert len({change.id for change in answer.changes}) == len(answer.changes)
            for change in answer.changes:
                attributes = port.undivided if change.attributes is None else change.attributes
                told.setdefault(change.id, []).append((change.kind, attributes))
            created = [change.id for change in answer.changes if change.kind is not Kind.GONE]
            read = await self.account.port.get_many(created, projection=SHOWN)
            for change in answer.changes:
                if change.kind is Kind.GONE or change.id not in read:
                    reader.mirror.pop(change.id, None)
                else:
                    reader.mirror[change.id] = shown(read[change.id])
            reader.position, more, slices = answer.position, answer.more, slices + 1
            assert slices < 500
            between()
        return told, slices


def shown(email):
    return {
        name: sorted(value) if isinstance(value := getattr(email, name), tuple) else value
        for name in SHOWN
    }


def check_told(before, after, told, *, exactly, slices, remade, touched):
    """
    Whether all that differs was told.

    *exactly*: the service tells of each attribute; of one slice there is nothing besides what was
    *touched*, of which some may be as it was.
    """
    for name in before.keys() | after.keys():
        kinds = [kind for kind, _ in told.get(name, ())]
        attributes = {key for _, named in told.get(name, ()) for key in named}
        if name not in after:
            assert Kind.GONE in kinds
        elif name not in before:
            assert Kind.CREATED in kinds or (not exactly and Kind.CHANGED in kinds)
        else:
            differ = {key for key in SHOWN if before[name][key] != after[name][key]}
            assert differ <= attributes or Kind.CREATED in kinds
            if exactly and slices == 1:
                # A label that is deleted and made again has another id and the same name.
                assert attributes <= touched.get(name, set()) | ({"labels"} if remade else set())
                assert set(kinds) <= {Kind.CHANGED, Kind.CREATED}


async def follow(account, seed):
    """Run one history; return how many positions were replayed and how many had expired."""
    rng = random.Random(seed)
    history = History(account, rng)
    for _ in range(rng.randint(0, 12)):
        history.happen()
    reader = await history.begin()
    replayed = expired = 0
    for _ in range(rng.randint(1, 4)):
        before, position = dict(reader.mirror), reader.position
        reader.past.append((position, before))
        history.touched.clear()
        for _ in range(rng.randint(0, 8)):
            history.happen()
        try:
            if rng.random() < 0.3:  # the mailbox changes while it is read
                await history.catch_up(
                    reader, between=lambda: history.happen() if rng.random() < 0.4 else None
                )
            middle = dict(reader.mirror)
            told, slices = await history.catch_up(reader)
        except PositionExpired:
            assert not history.is_gmail
            expired += 1
            reader = await history.begin()
            continue
        assert reader.mirror == await history.listing()
        check_told(
            middle,
            reader.mirror,
            told,
            exactly=history.is_gmail,
            slices=slices,
            remade=history.has_deleted_labels,
            touched=history.touched,
        )
    for position, mirror in reader.past:
        replay = Reader(dict(mirror), position)
        replayed += 1
        try:
            await history.catch_up(replay)
        except PositionExpired:
            assert not history.is_gmail
            expired += 1
        else:
            assert replay.mirror == reader.mirror
    return replayed, expired


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_the_listing_and_the_changes_are_the_listing_of_now(provider):
    replayed = expired = 0
    async with opened(provider) as account:
        for seed in range(times(HISTORIES)):
            for mail in account.sandbox.state.mails.all(account.mailbox):
                account.sandbox.state.mails.delete(account.mailbox, mail.id)
            earlier = History(account, None)
            earlier.folders.remove([folder.key for folder in earlier.made()])
            account.forget_calls()
            try:
                numbers = await follow(account, seed)
            except BaseException as failure:
                failure.add_note(f"{provider}, seed {seed}")
                raise
            replayed, expired = replayed + numbers[0], expired + numbers[1]

    assert replayed > times(HISTORIES)
    assert expired < replayed
