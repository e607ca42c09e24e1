"""Changes of messages by IMAP on a real Dovecot: the contract of every mail connector."""

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server
from mail_upstreams import ALL

from providers import dry_run
from providers.failures import Impossible, Missing
from providers.ports.mail import MailChange
from providers.write_previews import Change, WritePreview, previewing


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest_asyncio.fixture
async def writer(dovecot):
    async with imap_account.opened(dovecot) as account:
        yield account


STATE = frozenset({"labels", "is_read", "subject"})


async def only(account, *, label=None):
    (email,) = await account.every(account.query(label=label), projection=STATE)
    return email


async def test_trashing_happens_once(writer):
    await writer.add("Hello")
    email = await only(writer)

    await writer.port.trash(email.id)

    assert await writer.subjects() == []
    trashed = await only(writer, label="TRASH")
    assert (trashed.subject, trashed.labels) == ("Hello", ("TRASH",))
    for again in (email.id, trashed.id):
        with pytest.raises(Missing):
            await writer.port.trash(again)
        with pytest.raises(Missing):
            await writer.port.change(again, MailChange(read=True))


async def test_read_state_and_labels_change(writer):
    await writer.add("Hello", labels=("Client Work", "Old"), message_id="<a@north.example>")
    email = await only(writer)

    changed = await writer.port.change(
        email.id,
        MailChange(read=True, add_labels=("New One", "CLIENT WORK"), remove_labels=("OLD",)),
    )

    read = await writer.port.get(email.id, projection=ALL)
    assert (read.is_read, read.labels) == (True, ("INBOX", "Client Work", "New One"))
    assert (changed.email_id, changed.thread_id) == (email.id, read.thread_id)
    await writer.port.change(email.id, MailChange(read=False, remove_labels=("nowhere",)))
    assert (await only(writer)).is_read is False


CANNOT_SENTENCES = {
    "The state or folder of an email is not a label that can be added or removed.",
    "The mail server does not keep this label.",
}
CANNOT = {
    "a state": {"add_labels": ("Trash",)},
    "another spelling of a state": {"add_labels": (" ＩＮＢＯＸ",)},
    "the removal of the folder": {"remove_labels": ("inbox",)},
    "a hidden keyword": {"add_labels": ("$Phishing",)},
    "a keyword that is too long": {"add_labels": ("x" * 200,)},
}


@pytest.mark.parametrize("change", CANNOT.values(), ids=CANNOT.keys())
async def test_labels_that_cannot_be_changed_are_missing_and_change_nothing(writer, change):
    await writer.add("Hello", labels=("Old",))
    before = await only(writer)

    with pytest.raises(Impossible) as refusal:
        await writer.port.change(before.id, MailChange(read=True, **change))

    assert refusal.value.message in CANNOT_SENTENCES
    assert await only(writer) == before


@pytest.mark.parametrize(
    ("missing", "is_possible"),
    [({"MOVE"}, True), ({"MOVE", "UIDPLUS"}, False)],
    ids=["without MOVE", "without MOVE and UIDPLUS"],
)
async def test_a_server_with_fewer_extensions_trashes_or_says_that_it_cannot(
    writer, missing, is_possible, monkeypatch
):
    from providers.imap.session import Session

    log_in = Session.log_in

    async def with_fewer(self, account):
        await log_in(self, account)
        self.capabilities -= missing

    monkeypatch.setattr(Session, "log_in", with_fewer)
    await writer.add("Stays")
    await writer.add("Hello", at=1)
    email = (await writer.every(writer.query(), projection=STATE))[0]

    if is_possible:
        await writer.port.trash(email.id)
    else:
        with pytest.raises(Impossible, match="can neither move nor expunge"):
            await writer.port.trash(email.id)

    trashed = ["Hello"] if is_possible else []
    assert await writer.subjects(label="TRASH") == trashed
    assert await writer.subjects() == ["Stays"] if is_possible else ["Hello", "Stays"]


async def test_a_message_that_others_removed_is_missing(writer):
    await writer.add("Hello")
    email = await only(writer)
    await writer.port.change(email.id, MailChange(read=True))  # the folder is open
    await writer.session.command('SELECT "INBOX"')
    await writer.session.command("STORE 1 +FLAGS.SILENT (\\Deleted)")
    await writer.session.command("EXPUNGE")

    with pytest.raises(Missing):
        await writer.port.change(email.id, MailChange(read=False))
    with pytest.raises(Missing):
        await writer.port.trash(email.id)

    assert await writer.subjects(label="TRASH") == []


async def test_a_missing_trash_folder_is_made(writer):
    await writer.add("Hello")
    email = await only(writer)
    await writer.session.command('RENAME "Trash" "Old Trash"')
    try:
        await writer.port.trash(email.id)

        await writer.session.command('SELECT "Trash"')
        rows = await writer.session.fetch("1:*", "UID FLAGS")
        assert len(rows) == 1
    finally:
        await writer.session.command("CLOSE")
        await writer.session.command('DELETE "Trash"')
        await writer.session.command('RENAME "Old Trash" "Trash"')


async def test_a_dry_run_describes_a_change_and_makes_none(writer):
    await writer.add("Hello", labels=("Old",))
    before = await only(writer)
    preview = WritePreview(confirm=lambda: None)
    change = MailChange(read=True, add_labels=("New",), remove_labels=("Old",))

    with previewing(preview), dry_run.dry_run() as run:
        await writer.port.change(before.id, change)

    assert run.ended
    assert preview.changes == (
        Change(field="isRead", before=False, after=True, masked_by="is_read"),
        Change(field="labels", before=["INBOX", "Old"], after=["INBOX", "New"], masked_by="labels"),
    )
    with dry_run.dry_run() as deletion:
        await writer.port.trash(before.id)
    assert deletion.ended
    assert await only(writer) == before
