from pathlib import Path

import pytest

from sandbox.mail.delivery import send, strip_bcc
from sandbox.mail.mime import parse
from sandbox.mail.store import NEW_THREAD, Account, MailStore
from sandbox.storage.database import Database, open_database

FIRST = b"Message-ID: <a@x>\r\nSubject: Lease\r\n\r\nhello"
REPLY = b"Message-ID: <b@x>\r\nReferences: <a@x>\r\nSubject: Re: Lease\r\n\r\nyes"


@pytest.fixture
def mails() -> MailStore:
    return MailStore(Database(":memory:"), clock=lambda: 1_700_000_000.5)


def test_a_reply_joins_the_thread_it_references(mails):
    first = mails.add("provider-a", FIRST, folder="inbox", received_ms=1)
    reply = mails.add("provider-a", REPLY, folder="inbox")

    assert reply.thread_id == first.thread_id == first.id
    assert reply.received_ms == 1_700_000_000_500
    assert mails.thread("provider-a", first.id) == (first, reply)
    assert mails.all("provider-a") == (reply, first)


def test_a_thread_forms_when_the_reply_arrives_first(mails):
    reply = mails.add("provider-b", REPLY, folder="inbox")
    first = mails.add("provider-b", FIRST, folder="inbox")

    assert first.thread_id == reply.thread_id
    assert "=" in first.thread_id


def test_new_thread_ignores_references(mails):
    first = mails.add("provider-a", FIRST, folder="inbox")
    reply = mails.add("provider-a", REPLY, folder="sent", thread_id=NEW_THREAD)

    assert reply.thread_id != first.thread_id


def test_a_move_changes_the_id_on_provider_b_only(mails):
    mail = mails.add("provider-b", FIRST, folder="inbox")
    moved = mails.update("provider-b", mail.id, folder="trash", new_id=True)

    assert moved.id != mail.id
    assert moved.immutable_id == mail.immutable_id
    assert mails.find("provider-b", mail.id) is None
    assert mails.find("provider-b", mail.immutable_id) == moved

    other = mails.add("provider-a", FIRST, folder="inbox")
    assert mails.update("provider-a", other.id, folder="trash").id == other.id


def test_an_edit_of_a_draft_changes_the_id_on_provider_a(mails):
    draft = mails.add("provider-a", FIRST, folder="drafts")
    edited = mails.update("provider-a", draft.id, raw=REPLY, new_id=True)

    assert edited.id != draft.id
    assert mails.find("provider-a", edited.id) == edited


def test_the_database_file_is_readable_by_its_owner_only(tmp_path: Path):
    mails = MailStore(open_database(tmp_path))
    mails.add("provider-a", FIRST, folder="inbox")
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["sandbox.db", "sandbox.db-shm", "sandbox.db-wal"]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 3


def test_writes_of_another_process_are_noticed(tmp_path: Path):
    store, other = MailStore(open_database(tmp_path)), MailStore(open_database(tmp_path))
    first = store.add("provider-a", FIRST, folder="inbox")
    second = store.add("provider-a", REPLY, folder="inbox")
    assert len(other.all("provider-a")) == 2

    other.update("provider-a", first.id, is_read=True)
    other.delete("provider-a", second.id)
    other.add_label("provider-a", "Clients")

    assert [mail.is_read for mail in store.all("provider-a")] == [True]
    assert [label.name for label in store.user_labels("provider-a")] == ["Clients"]
    changed, deleted = store.history.since("provider-a", 0)
    assert (changed.id_after, deleted.id_before, deleted.after) == (first.id, second.id, None)


def test_ids_are_the_same_in_every_run(mails):
    again = MailStore(Database(":memory:"))

    assert mails.add("provider-b", FIRST, folder="inbox").id == (
        again.add("provider-b", FIRST, folder="inbox").id
    )


def test_a_renamed_label_is_renamed_on_its_mail(mails):
    mails.add_label("provider-a", "Home")
    mail = mails.add("provider-a", FIRST, folder="inbox", labels=("Home",))
    mails.rename_label("provider-a", "Home", "House")

    stored = mails.find("provider-a", mail.id)
    assert stored is not None
    assert stored.labels == ("House",)
    assert [label.name for label in mails.user_labels("provider-a")] == ["House"]

    mails.delete_label("provider-a", "House")
    stored = mails.find("provider-a", mail.id)
    assert stored is not None
    assert stored.labels == ()


def test_a_failed_transaction_leaves_nothing(mails):
    with pytest.raises(ValueError, match="No such folder"):
        mails.add("provider-a", FIRST, folder="attic")

    assert mails.all("provider-a") == ()
    assert mails.last_change() == 0


def test_mail_between_the_mailboxes_arrives_without_bcc(mails):
    mails.set_account("provider-b", Account("b@x.test", "B"))
    bcc = b"Bcc: B@x.test,\r\n q@x.test\r\n"
    raw = b"From: a@x.test\r\nTo: z@x.test\r\n" + bcc + b"Subject: s\r\n\r\nBcc: no"
    sent = send(mails, "provider-a", raw)

    assert sent.folder == "sent"
    assert sent.raw == raw
    (arrived,) = mails.all("provider-b")
    assert arrived.folder == "inbox"
    assert arrived.raw == b"From: a@x.test\r\nTo: z@x.test\r\nSubject: s\r\n\r\nBcc: no"
    assert strip_bcc(arrived.raw) == arrived.raw


@pytest.mark.parametrize(("mailbox", "count"), [("provider-a", 1), ("provider-b", 2)])
def test_mail_to_the_own_account_arrives(mails, mailbox, count):
    mails.set_account(mailbox, Account("me@x.test", "Me"))
    send(mails, mailbox, b"To: Me@x.test\r\nSubject: s\r\n\r\n.")

    arrived = mails.all(mailbox)
    assert len(arrived) == count
    assert any(mail.folder == "inbox" and not mail.is_read for mail in arrived)


MALFORMED = {
    "an unknown charset": b"Content-Type: text/plain; charset=x-nope\r\n\r\nhi",
    "a broken encoded word": b"Subject: =?utf-8?b?!!!?=\r\n\r\nhi",
    "raw bytes in a header": b"Subject: caf\xc3\xa9\r\n\r\nhi",
    "a multipart without parts": b"Content-Type: multipart/mixed; boundary=x\r\n\r\nnothing",
    "bad base64": b"Content-Transfer-Encoding: base64\r\n\r\n@@@@=",
    "a bad file name": b"Content-Disposition: attachment; filename*=nope''%ff\r\n\r\nx",
    "an empty message": b"",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_messages_are_parsed(raw):
    tree = parse(raw)

    assert isinstance(tree.text, str)
    assert tree.body("html") is None


def test_encoded_names_with_commas_stay_one_address():
    raw = b"To: =?utf-8?q?M=C3=BCller=2C_A?= <a@x.test>, b@x.test\r\n\r\n"

    assert [(address.name, address.address) for address in parse(raw).addresses("to")] == [
        ("Müller, A", "a@x.test"),
        ("", "b@x.test"),
    ]
