"""Importing real mail: mbox, .eml, maildir and folders, with nothing dropped in silence."""

import base64
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.app import Sandbox
from sandbox.importing import mail_files
from sandbox.importing.dispatch import import_path
from sandbox.importing.report import ALREADY_THERE, CannotImport
from sandbox.mail.mime import parse
from sandbox.mail.store import MailStore
from sandbox.state import open_state
from sandbox.storage.database import Database

DATA = Path(__file__).parent / "data"
ENVELOPE = b"From ann@x.example Mon Mar  2 10:00:00 2026\n"
BOX = "provider-a"


def letter(subject, *lines, body=b"Hello.\n", sender=b"ann@x.example"):
    head = [b"From: " + sender, b"Subject: " + subject.encode(), *lines]
    return b"\n".join(head) + b"\n\n" + body


@pytest.fixture
def store():
    return Database(":memory:")


def stored(store, mailbox=BOX):
    return {parse(mail.raw).header("subject") or "": mail for mail in MailStore(store).all(mailbox)}


def at(*moment):
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1000)


# .eml, shipped with these tests: file -> subject, sender, body, attachments, received

ODD_FILES = {
    "no-date-no-id.eml": ("FAX", "fax@copyshop.example", "Page 1 of 1", (), None),
    "raw-latin1-headers.eml": (
        "Br�tchen",  # the wire knows no charset for raw bytes in headers
        "moewe@baeckerei.example",
        "Sechs Stück.",
        (),
        at(2026, 3, 2, 4),
    ),
    "iso-2022-jp.eml": (
        "お見積もりの件",
        "yamamoto@ferry.example",
        "よろしくお願いします。",
        (),
        at(2026, 3, 3, 0, 12),
    ),
    "koi8-r-8bit.eml": (
        "Блоки готовы",
        "dmitri@rig.example",
        "Масло ещё сохнет.",
        (),
        at(2026, 3, 4, 8),
    ),
    "nested-mail.eml": (
        "Fwd: Key of the gate",
        "jonas@x.example",
        "See below.",
        ("key.eml",),
        at(2026, 3, 5, 8),
    ),
    "continued-filename.eml": (
        "Drawing",
        "lukas@x.example",
        "Revision C.",
        ("Größe der Luke C.pdf",),
        at(2026, 3, 6, 8),
    ),
    "group-and-two-to.eml": (
        "Who has the löng ruler?",
        "astrid@x.example",
        "Brass, four metres.",
        (),
        at(2026, 3, 7, 8),
    ),
    "lf-only-unfinished.eml": (
        "Backup finished",
        "backup@x.example",
        "0 files copied",
        (),
        at(2026, 3, 8, 9, 0, 5),  # the topmost Received, not the Date
    ),
    "cut-short.eml": (
        "Drawing follows",
        "daniel@x.example",
        "Here it is.",
        ("drawing.png",),
        at(2026, 3, 9, 8),
    ),
    "utf-16-base64.eml": ("Two bytes", "press@x.example", "½ × œuvre", (), at(2026, 3, 10, 8)),
    "windows-1252-named-latin1.eml": (
        "“Deposit” – 96\u00a0000",
        "birgitta@x.example",
        "Rent § 7, café, index.",
        (),
        at(2026, 3, 11, 8),
    ),
    "inline-picture-and-calendar.eml": (
        "Rendez-vous",
        "camille@besson.example",
        "A jeudi",
        ("wave.gif",),
        at(2026, 3, 12, 8),
    ),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_malformed_message_is_imported_unchanged(store, name):
    subject, sender, body, attached, received = ODD_FILES[name]
    report = import_path(store, into=BOX, path=DATA / name)
    (mail,) = MailStore(store).all(BOX)
    tree = parse(mail.raw)

    assert (report.imported, report.skipped) == (1, ())
    assert mail.raw == (DATA / name).read_bytes()
    assert tree.header("subject") == subject
    assert tree.addresses("from")[0].address == sender
    assert tree.body("plain").text.strip() == body
    assert tuple(part.filename for part in tree.attachments()) == attached
    assert received is None or mail.received_ms == received
    assert (mail.folder, mail.is_read, mail.is_starred) == ("inbox", True, False)


def test_a_message_without_any_time_takes_that_of_its_file(store, tmp_path):
    shutil.copy(DATA / "no-date-no-id.eml", tmp_path / "fax.eml")
    os.utime(tmp_path / "fax.eml", (1_700_000_000, 1_700_000_000))
    import_path(store, into=BOX, path=tmp_path / "fax.eml")

    assert stored(store)["FAX"].received_ms == 1_700_000_000_000


def test_folder_is_imported_and_replies_keep_their_thread(store):
    report = import_path(store, into=BOX, path=DATA)
    mails = stored(store)

    assert report.imported == len(ODD_FILES) == len(mails)
    assert ".gitattributes" in dict(report.skipped)
    assert mails["Rendez-vous"].thread_id == mails["“Deposit” – 96\u00a0000"].thread_id


def test_duplicate_message_is_imported_once(store):
    import_path(store, into=BOX, path=DATA / "cut-short.eml")
    again = import_path(store, into=BOX, path=DATA / "cut-short.eml")
    elsewhere = import_path(store, into="provider-b", path=DATA / "cut-short.eml", label="")

    assert (again.imported, again.skipped) == (0, (("cut-short.eml", ALREADY_THERE),))
    assert elsewhere.imported == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"\r\n \r\n", "empty", id="blank"),
        pytest.param(b"just some text\nand more\n", "no header lines", id="no headers"),
        pytest.param(b"root:x:0:0\nmail:x:8:8\n", "no header lines", id="a table of colons"),
        pytest.param(b"note: x\n\nFrom: a@b\n", "no header lines", id="headers in a body"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00", "no header lines", id="a picture"),
    ],
)
def test_unusable_file_is_reported_with_the_reason(store, tmp_path, content, reason):
    (tmp_path / "x.eml").write_bytes(content)
    (tmp_path / "y.eml").write_bytes(letter("fine"))
    report = import_path(store, into=BOX, path=tmp_path)

    assert report.imported == 1
    assert report.skipped == (("x.eml", reason),)


def test_too_large_and_foreign_files_are_named(store, tmp_path, monkeypatch):
    monkeypatch.setattr(mail_files, "MAX_MESSAGE_BYTES", 1024 * 1024)
    (tmp_path / "big.eml").write_bytes(letter("big", body=b"x" * 1024 * 1024))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "notes.docx").write_bytes(b"PK")
    (tmp_path / "gone.eml").symlink_to(tmp_path / "nowhere.eml")
    big = ENVELOPE + letter("big", body=b"x" * 1024 * 1024) + b"\n" + ENVELOPE + letter("small")
    (tmp_path / "two.mbox").write_bytes(big)
    report = import_path(store, into=BOX, path=tmp_path)

    assert report.imported == 1
    assert set(report.skipped) == {
        ("big.eml", "larger than 1 MB"),
        ("gone.eml", "not a regular file"),
        ("two.mbox#1", "larger than 1 MB"),
        (f"sub{os.sep}notes.docx", "neither .eml nor mbox"),
    }


# mbox

QUOTED = b"He wrote:\n\n>From the sea\n>>From the land\nEnd.\n"
RESTORED = b"He wrote:\n\nFrom the sea\n>From the land\nEnd.\n"


def imported(store, tmp_path, content, name="box.mbox"):
    (tmp_path / name).write_bytes(content)
    return import_path(store, into=BOX, path=tmp_path / name)


def test_mbox_quoting_is_undone(store, tmp_path):
    content = ENVELOPE + letter("one", body=QUOTED) + b"\n" + ENVELOPE + letter("two") + b"\n"
    report = imported(store, tmp_path, content)
    mails = stored(store)

    assert (report.imported, report.skipped) == (2, ())
    assert mails["one"].raw == letter("one", body=RESTORED)
    assert mails["two"].raw == letter("two") + b"\n"
    assert mails["one"].received_ms == at(2026, 3, 2, 10)


def test_an_mbox_with_carriage_returns_keeps_them(store, tmp_path):
    crlf = letter("one", body=b"a\nb\n").replace(b"\n", b"\r\n")
    envelope = ENVELOPE.replace(b"\n", b"\r\n")
    imported(store, tmp_path, envelope + crlf + b"\r\n" + envelope + letter("two"))

    assert stored(store)["one"].raw == crlf


def test_text_line_starting_with_from_is_not_a_new_message(store, tmp_path):
    body = b"Dear Nora,\n\nFrom now on I write shorter letters.\n\nFrom: and to: are words too.\n"
    report = imported(store, tmp_path, ENVELOPE + letter("one", body=body))

    assert report.imported == 1
    assert stored(store)["one"].raw == letter("one", body=body)


def test_content_length_delimits_messages(store, tmp_path):
    """mboxcl2 quotes nothing: only Content-Length tells where the message ends."""
    body = b"Forwarded:\n\n" + ENVELOPE + letter("inner") + b">From here, unquoted\n"
    outer = letter("outer", b"Content-Length: %d" % len(body), body=body)
    report = imported(store, tmp_path, ENVELOPE + outer + b"\n" + ENVELOPE + letter("next"))
    mails = stored(store)

    assert report.imported == 2
    assert set(mails) == {"outer", "next"}
    assert mails["outer"].raw == outer


def test_wrong_content_length_is_ignored(store, tmp_path):
    wrong = letter("one", b"Content-Length: 9999")
    report = imported(store, tmp_path, ENVELOPE + wrong + b"\n" + ENVELOPE + letter("two"))

    assert report.imported == 2


def test_messages_without_blank_line_are_separated(store, tmp_path):
    report = imported(store, tmp_path, ENVELOPE + letter("one") + ENVELOPE + letter("two"))

    assert report.imported == 2


def test_file_that_is_not_an_mbox_is_reported(store, tmp_path):
    before = imported(store, tmp_path, b"garbage\n\n" + ENVELOPE + letter("one"), "half.mbox")
    nothing = imported(store, tmp_path, b"Subject: x\n\nNo envelope.\n", "none.mbox")

    assert (before.imported, before.skipped) == (
        1,
        (("half.mbox#0", "text before the first From_ line"),),
    )
    assert nothing.skipped == (("none.mbox", "no From_ line: not an mbox file"),)


def test_progress_and_batches_cover_a_large_mbox(store, tmp_path):
    progress = []
    (tmp_path / "Sent.mbox").write_bytes(
        b"\n".join(ENVELOPE + letter(f"number {n}") for n in range(450))
    )
    path = tmp_path / "Sent.mbox"
    report = import_path(store, into=BOX, path=path, progress=progress.append, label="Old Mail")
    mails = MailStore(store)

    assert report.imported == 450
    assert progress == [200, 400, 450]
    assert {mail.folder for mail in mails.all(BOX)} == {"sent"}
    assert [label.name for label in mails.user_labels(BOX)] == ["Old Mail"]


MARKED = {
    "takeout, starred and labelled": (
        (b'X-Gmail-Labels: Inbox,Starred,Unread,Important,"Clients, old",Clients/New',),
        ("inbox", False, True, ("Clients, old", "Clients/New", "IMPORTANT")),
    ),
    "takeout, encoded label, archived": (
        (b"X-Gmail-Labels: =?UTF-8?Q?Opened,R=C3=A4kningar,Category_Promotions?=",),
        ("archive", True, False, ("Räkningar", "CATEGORY_PROMOTIONS")),
    ),
    "takeout, trash wins": ((b"X-Gmail-Labels: Sent,Trash,Opened",), ("trash", True, False, ())),
    "mozilla, read and starred": (
        (b"X-Mozilla-Status: 0005", b"X-Mozilla-Keys: $label4 NonJunk boats"),
        ("inbox", True, True, ("To Do", "boats")),
    ),
    "mozilla, unread junk": (
        (b"X-Mozilla-Status: 0000", b"X-Mozilla-Keys: Junk"),
        ("spam", False, False, ()),
    ),
    "unix, old but not read, flagged": ((b"Status: O", b"X-Status: F"), ("inbox", False, True, ())),
    "unix, read draft": ((b"Status: RO", b"X-Status: T"), ("drafts", True, False, ())),
}


@pytest.mark.parametrize("case", MARKED)
def test_mailbox_state_of_a_message_is_imported(store, tmp_path, case):
    lines, known = MARKED[case]
    imported(store, tmp_path, ENVELOPE + letter("one", *lines))
    mail = stored(store)["one"]

    assert (mail.folder, mail.is_read, mail.is_starred, mail.labels) == known


def test_provider_b_gets_no_system_labels_of_provider_a(store, tmp_path):
    (tmp_path / "x.mbox").write_bytes(ENVELOPE + letter("one", b"X-Gmail-Labels: Important,Kai"))
    import_path(store, into="provider-b", path=tmp_path / "x.mbox")

    assert stored(store, "provider-b")["one"].labels == ("Kai",)


def test_labels_take_their_existing_spelling(store, tmp_path):
    MailStore(store).add_label(BOX, "To Do")
    imported(store, tmp_path, ENVELOPE + letter("one", b"X-Gmail-Labels: to do, Inbox"))

    assert stored(store)["one"].labels == ("To Do",)


def test_message_marked_as_deleted_is_skipped(store, tmp_path):
    report = imported(store, tmp_path, ENVELOPE + letter("one", b"X-Mozilla-Status: 0009"))

    assert report.imported == 0
    assert report.skipped[0][0] == "box.mbox#1"


# maildir


def test_a_maildir_keeps_flags_and_folders(store, tmp_path):
    root = tmp_path / "Maildir"
    files = {
        "cur/1.host:2,S": letter("seen"),
        "cur/2.host:2,FRS": letter("flagged"),
        "cur/3.host:2,": letter("unseen"),
        "cur/4.host:2,ST": letter("trashed"),
        "cur/5.host:2,D": letter("draft"),
        "new/6.host": letter("new"),
        "tmp/7.host": letter("half"),
        ".Sent/cur/8.host:2,S": letter("sent"),
        ".Clients.Gr&APYA3w-e/cur/9.host:2,S": letter("subfolder"),
    }
    for folder in ("tmp", "new", ".Sent/new", ".Clients.Gr&APYA3w-e/new"):
        (root / folder).mkdir(parents=True)
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    report = import_path(store, into=BOX, path=root)
    states = {
        subject: (mail.folder, mail.is_read, mail.is_starred, mail.labels)
        for subject, mail in stored(store).items()
    }

    assert report.imported == 8
    assert report.skipped == (
        (f"tmp{os.sep}7.host", "still being delivered when it was copied (tmp)"),
    )
    assert states == {
        "seen": ("inbox", True, False, ()),
        "flagged": ("inbox", True, True, ()),
        "unseen": ("inbox", False, False, ()),
        "trashed": ("trash", True, False, ()),
        "draft": ("drafts", False, False, ()),
        "new": ("inbox", False, False, ()),
        "sent": ("sent", True, False, ()),
        "subfolder": ("inbox", True, False, ("Clients/Größe",)),
    }


# Anything at all

PIECES = st.sampled_from(
    [
        ENVELOPE,
        b"From nobody\n",
        b"\n",
        b"\r\n",
        b">From x\n",
        b"Subject: a\n",
        b"Content-Length: 7\n",
        b"Content-Length: 99999999999999999999\n",
        b"Received: from a by b; Mon, 99 Foo 99999 99:99:99 +9999\n",
        b"Received: no semicolon\n",
        b"Date: Thu, 1 Jan 1970 00:00:00 -9999\n",
        b"Date: \xff\xfe 0 0 0\n",
        b"X-Mozilla-Status: ffffffffff\n",
        b"X-Mozilla-Keys: \xe9 $label1\n",
        b'X-Gmail-Labels: =?utf-8?Q?",,=22?=, "\n',
        b"Status: \xff\n",
        b"References: <a@b> <<c>\n",
    ]
) | st.binary(max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=14), suffix=st.sampled_from([".mbox", ".eml", ".emlx"]))
def test_any_bytes_are_imported_or_reported(tmp_path, pieces, suffix):
    store, path = Database(":memory:"), tmp_path / f"any{suffix}"
    path.write_bytes(b"".join(pieces))
    report = import_path(store, into=BOX, path=path)

    assert report.imported == len(MailStore(store).all(BOX))
    assert report.imported + len(report.skipped) >= 1
    assert all(name.startswith("any") and reason for name, reason in report.skipped)


# The door


def test_invalid_import_is_refused(store, tmp_path):
    (tmp_path / "x.eml").write_bytes(letter("one"))
    (tmp_path / "x.pst").write_bytes(b"!BDN")

    with pytest.raises(CannotImport, match="nothing at"):
        import_path(store, into=BOX, path=tmp_path / "missing.eml")
    with pytest.raises(CannotImport, match="provider-c"):
        import_path(store, into="provider-c", path=tmp_path / "x.eml")
    with pytest.raises(CannotImport, match=r"\.pst"):
        import_path(store, into=BOX, path=tmp_path / "x.pst")
    with pytest.raises(CannotImport, match="colour"):
        import_path(store, into=BOX, path=tmp_path / "x.eml", colour="red")
    with pytest.raises(CannotImport, match="attic"):
        import_path(store, into=BOX, path=tmp_path / "x.eml", folder="attic")
    assert MailStore(store).all(BOX) == ()


# Mail that nobody here wrote: the odd messages that the interpreter tests its own parser with


def stdlib_messages():
    """Return the messages of the interpreter's own test suite, () where it is not installed."""
    try:
        spec = find_spec("test.test_email")
    except ModuleNotFoundError:
        return ()
    if spec is None or spec.origin is None:
        return ()
    return tuple(sorted((Path(spec.origin).parent / "data").glob("msg_*.txt")))


MESSAGES = stdlib_messages()
NO_HEADERS = {"msg_19.txt"}  # a digest's introduction: prose from the first line
needs_messages = pytest.mark.skipif(
    not MESSAGES, reason="the interpreter's own test messages (test.test_email) are not installed"
)


@pytest.fixture(scope="module")
def strangers():
    """The sandbox after the import of every such message into both mailboxes."""
    state = open_state(None)
    skipped = {}
    for path in MESSAGES:
        for mailbox in ("provider-a", "provider-b"):
            skipped |= dict(import_path(state.database, into=mailbox, path=path).skipped)
    state.mails.last_change()
    return Sandbox(open_again(state), public_base="http://sandbox.test"), skipped


def open_again(state):
    """Look at the store with fresh eyes, as the server does after an import by command."""
    return replace(state, mails=MailStore(state.database))


@needs_messages
def test_every_message_of_the_interpreter_comes_in(strangers):
    sandbox, skipped = strangers

    assert set(skipped) == NO_HEADERS
    for mailbox in ("provider-a", "provider-b"):
        assert len(sandbox.state.mails.all(mailbox)) == len(MESSAGES) - len(NO_HEADERS)


# Where the wires read otherwise than the interpreter, and why: file -> the body they show.
READ_OTHERWISE = {
    "msg_04.txt": "",  # its texts have file names: files to the wires, a body to the interpreter
    "msg_44.txt": "",  # the same
    "msg_11.txt": "Hereisthebodyofthemessage.",  # a mail that is nothing but another mail
    "msg_46.txt": "TestingemailforwardingwithGroupwise1.2.2010",  # the same
}
BY_CONTENT = {path.read_bytes(): path.name for path in MESSAGES}


def expected(raw):
    """Results of the interpreter's newest parser: subject, senders, body, files."""
    mail = message_from_bytes(raw, policy=policy.default)
    senders = mail["from"].addresses if mail["from"] else ()
    leaves = [part for part in mail.walk() if not part.is_multipart()]
    files = [part for part in leaves if part.get_filename() or part.is_attachment()]
    return {
        "subject": oneline(str(mail["subject"] or "")),
        # An entry without @ is no address: docs/spec/email.md#addresses.
        "from": [sender.addr_spec.strip("<>") for sender in senders if sender.domain],
        "files": sorted(part.get_filename() or "" for part in files),
        "body": READ_OTHERWISE.get(BY_CONTENT.get(raw), body_of(mail)),
        "subtype": subtype_of(mail),
    }


def subtype_of(mail):
    body = mail.get_body(("html", "plain"))
    return "plain" if body is None else body.get_content_subtype()


def body_of(mail):
    body = mail.get_body(("html", "plain"))
    return "" if body is None else words(body.get_content())


def words(text):
    return "".join(text.split())


def oneline(text):
    return " ".join(text.split())


def decoded(data):
    return base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))


@needs_messages
@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_mail_of_strangers_is_read_as_the_interpreter_reads_it(path):
    if path.name in NO_HEADERS:
        pytest.skip("it has no headers")
    raw = path.read_bytes()
    reference, tree = expected(raw), parse(raw)
    body = tree.body("html") or tree.body("plain")
    files = [part for part in tree.walk() if part.is_attachment and not part.parts]

    assert oneline(tree.header("subject") or "") == reference["subject"]
    senders = [address.address for address in tree.addresses("from") if address.address]
    assert senders == reference["from"]
    assert sorted(part.filename for part in files) == reference["files"]
    assert (words(body.text) if body else "") == reference["body"]


def parts_below(payload):
    yield payload
    for part in payload.get("parts", ()):
        yield from parts_below(part)


def own_parts(payload):
    """The parts of a message without those of messages attached to it."""
    yield payload
    for part in payload.get("parts", ()):
        if part["mimeType"] != "message/rfc822":
            yield from own_parts(part)


def body_on_a(payload):
    """Return the body: HTML, else plain text; of leaves without a file name."""
    leaves = [part for part in own_parts(payload) if "parts" not in part]
    for kind in ("text/html", "text/plain"):
        for part in leaves:
            if part["mimeType"] == kind and not part["filename"]:
                # The service hands texts over in UTF-8, whatever their header says.
                return decoded(part["body"].get("data", "")).decode("utf-8", "replace")
    return ""


@pytest.mark.slow
@needs_messages
async def test_provider_a_shows_the_messages_of_strangers(strangers):
    sandbox, _ = strangers
    scope = "https://www.googleapis.com/auth/gmail.readonly"
    token = sandbox.state.tokens.issue("providerA", "me@provider-a.example", (scope,))
    async with client_of(sandbox, token) as client:
        for mail in sandbox.state.mails.all("provider-a"):
            path = f"/provider-a/gmail/v1/users/me/messages/{mail.id}"
            answer = await client.get(path, params={"format": "full"})
            raw = await client.get(path, params={"format": "raw"})
            payload, reference = answer.json()["payload"], expected(mail.raw)
            headers = {header["name"].lower(): header["value"] for header in payload["headers"]}
            leaves = [part for part in parts_below(payload) if "parts" not in part]
            files = [part["filename"] for part in leaves if part["filename"]]

            assert answer.status_code == 200
            assert decoded(raw.json()["raw"]) == mail.raw
            assert oneline(headers.get("subject", "")) == reference["subject"]
            assert sorted(files) == [name for name in reference["files"] if name]
            assert words(body_on_a(payload)) == reference["body"]


@pytest.mark.slow
@needs_messages
async def test_provider_b_shows_the_messages_of_strangers(strangers):
    sandbox, _ = strangers
    scopes = ("Mail.ReadWrite", "User.Read")
    token = sandbox.state.tokens.issue("providerB", "me@provider-b.example", scopes)
    async with client_of(sandbox, token) as client:
        for mail in sandbox.state.mails.all("provider-b"):
            path = f"/provider-b/v1.0/me/messages/{mail.id}"
            reference = expected(mail.raw)
            kind = "text" if reference["subtype"] == "plain" else "html"
            prefer = {"prefer": f'outlook.body-content-type="{kind}"'}
            answer = await client.get(path, headers=prefer)
            files = await client.get(f"{path}/attachments", params={"$select": "name"})
            shown = answer.json()

            assert answer.status_code == 200
            assert (await client.get(f"{path}/$value")).content == mail.raw
            assert oneline(shown["subject"] or "") == reference["subject"]
            if reference["from"]:
                assert shown["from"]["emailAddress"]["address"] == reference["from"][0]
            # Outlook shows every text of a mail, the interpreter the first one.
            assert reference["body"] in words(shown["body"]["content"])
            named = {attachment["name"] for attachment in files.json()["value"]}
            assert named >= {name for name in reference["files"] if name}


def client_of(sandbox, token):
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=sandbox),
        base_url="http://sandbox.test",
        headers={"authorization": f"Bearer {token}"},
    )
