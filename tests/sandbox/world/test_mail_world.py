"""The demo world's mailboxes hold what docs/spec/sandbox.md#mail promises."""

import re
from collections import Counter
from datetime import UTC, date, datetime
from email.utils import parseaddr

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.mail.ids import MAILBOXES
from sandbox.mail.mime import parse
from sandbox.mail.store import MailStore
from sandbox.state import open_state
from sandbox.storage.database import Database
from sandbox.world.accounts import demo_accounts
from sandbox.world.mail import mailboxes as world

NOW = datetime(2026, 11, 20, 13, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def seeded():
    store = Database(":memory:")
    mails = MailStore(store)
    return store, mails, world.seed(store, mails, NOW)


@pytest.fixture(scope="module")
def trees(seeded):
    _, mails, _ = seeded
    return {box: [(mail, parse(mail.raw)) for mail in mails.all(box)] for box in MAILBOXES}


def test_the_same_day_gives_the_same_bytes():
    first, second = (
        [
            mail
            for account in demo_accounts(date(2026, 3, 1))
            for mail in world.planned_mails(account)
        ]
        for _ in range(2)
    )

    assert first == second


@pytest.mark.slow
def test_the_owner_of_the_studio_signs_in_by_another_name_than_her_address(seeded):
    _, mails, _ = seeded
    account = mails.account("provider-b")

    assert account.email == "nora@harbourlight-studio.example"
    assert account.principal_name == "n.lindqvist@harbourlight.onmicrosoft.example"


@pytest.mark.slow
def test_another_day_shifts_the_world():
    def newest(day):
        return max(
            mail.received_ms
            for account in demo_accounts(day)
            for mail in world.planned_mails(account)
        )

    assert newest(date(2026, 11, 20)) - newest(date(2026, 11, 10)) == pytest.approx(
        10 * 86_400_000, abs=2 * 86_400_000
    )


def test_a_second_seeding_writes_nothing(seeded):
    store, mails, facts = seeded
    writes = store.writes
    again = world.seed(store, mails, datetime(2027, 1, 1, tzinfo=UTC))

    assert facts.created is True
    assert again.created is False
    assert again.day == date(2026, 11, 20)
    assert again.mails == facts.mails
    assert store.writes == writes


def test_no_mail_is_in_the_future(seeded):
    _, mails, _ = seeded
    midnight = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1000)

    assert all(mail.received_ms < midnight for box in MAILBOXES for mail in mails.all(box))


@pytest.mark.parametrize("box", MAILBOXES)
def test_some_threads_are_long(seeded, box):
    _, mails, _ = seeded
    sizes = sorted((len(thread) for thread in mails.threads(box).values()), reverse=True)

    assert 20 < sizes[0] <= 30
    assert sum(size > 2 for size in sizes) > 8


@pytest.mark.slow
@pytest.mark.parametrize("box", MAILBOXES)
def test_the_account_receives_and_sends_mail(trees, seeded, box):
    _, mails, _ = seeded
    me = mails.account(box).email
    to_me = [
        tree
        for _, tree in trees[box]
        if me in {address.address for address in tree.addresses("to")}
    ]
    from_me = [mail for mail, tree in trees[box] if parseaddr(tree.header("from") or "")[1] == me]

    assert len(to_me) > 30
    assert len(from_me) > 20
    assert {mail.folder for mail in from_me} >= {"sent"}


# The promised content of each mailbox: name -> (minimal number of mails, predicate of a mail)


def has(name):
    return lambda mail, tree: tree.header(name) is not None


def charset_is(*names):
    return lambda mail, tree: any((part.charset or "").lower() in names for part in tree.walk())


def transferred_as(name):
    return lambda mail, tree: any(
        (part.header("content-transfer-encoding") or "").lower() == name for part in tree.walk()
    )


def contains(kind):
    return lambda mail, tree: any(part.content_type == kind for part in tree.walk())


def in_folder(name):
    return lambda mail, tree: mail.folder == name


def raw_matches(pattern):
    return lambda mail, tree: re.search(pattern, mail.raw) is not None


def files_with_a_body(mail, tree):
    body = tree.body("plain") or tree.body("html")
    return body is not None and bool(body.text.strip()) and bool(tree.attachments())


def script_in_subject(first, last):
    return lambda mail, tree: any(
        first <= letter <= last for letter in tree.header("subject") or ""
    )


def replies_without_re(mail, tree):
    subject = (tree.header("subject") or "").lower()
    return has("references")(mail, tree) and not subject.startswith(
        ("re:", "aw:", "sv:", "re :", "odp:")
    )


PROMISED = {
    "mails": (350, lambda mail, tree: True),
    "unread": (20, lambda mail, tree: not mail.is_read),
    "read": (200, lambda mail, tree: mail.is_read),
    "starred": (2, lambda mail, tree: mail.is_starred),
    "with cc": (60, has("cc")),
    "non-ASCII senders": (60, lambda mail, tree: not (tree.header("from") or "").isascii()),
    "non-ASCII subjects": (50, lambda mail, tree: not (tree.header("subject") or "").isascii()),
    "attachments on mails with bodies": (60, files_with_a_body),
    "inline pictures": (2, raw_matches(rb"Content-Disposition: inline")),
    "drafts": (6, in_folder("drafts")),
    "trash": (10, in_folder("trash")),
    "spam": (14, in_folder("spam")),
    "sent": (20, in_folder("sent")),
    "archive": (10, in_folder("archive")),
    "text alone": (100, lambda mail, tree: tree.content_type == "text/plain"),
    "HTML alone": (10, lambda mail, tree: tree.content_type == "text/html"),
    "text and HTML": (60, contains("multipart/alternative")),
    "related parts": (2, contains("multipart/related")),
    "calendar parts": (5, contains("text/calendar")),
    "PDF files": (30, contains("application/pdf")),
    "PNG files": (5, contains("image/png")),
    "CSV files": (10, contains("text/csv")),
    "mails in mails": (2, contains("message/rfc822")),
    "utf-8": (100, charset_is("utf-8")),
    "iso-8859-x": (20, charset_is("iso-8859-1", "iso-8859-2", "iso-8859-15")),
    "windows-125x": (5, charset_is("windows-1250", "windows-1252", "windows-1255")),
    "iso-2022-jp": (1, charset_is("iso-2022-jp")),
    "utf-16": (1, charset_is("utf-16")),
    "7bit": (10, transferred_as("7bit")),
    "8bit": (10, transferred_as("8bit")),
    "base64": (40, transferred_as("base64")),
    "quoted-printable": (100, transferred_as("quoted-printable")),
    "encoded words, B": (20, raw_matches(rb"=\?[\w-]+\?B\?")),
    "encoded words, Q": (20, raw_matches(rb"=\?[\w-]+\?Q\?")),
    "RFC 2231 names": (2, raw_matches(rb"filename\*=utf-8''")),
    "continued names": (1, raw_matches(rb"filename\*0\*=")),
    "several To headers": (1, raw_matches(rb"(?ims)^To:[^\n]*\n[^\n]*^To:")),
    "group addresses": (2, raw_matches(rb"(?m)^To: [^\r\n<@]+:[^\r\n;]*(?:\r\n [^\r\n;]*)*;\r$")),
    "no Message-ID": (1, lambda mail, tree: tree.header("message-id") is None),
    "no Date": (1, lambda mail, tree: tree.header("date") is None),
    "no Subject": (1, lambda mail, tree: tree.header("subject") is None),
    "empty subjects": (2, lambda mail, tree: tree.header("subject") == ""),
    "300 recipients": (1, lambda mail, tree: len(tree.addresses("to")) >= 300),
    "Reply-To lists": (1, lambda mail, tree: len(tree.addresses("reply-to")) > 1),
    "high importance": (1, lambda mail, tree: (tree.header("importance") or "") == "High"),
    "low importance": (1, lambda mail, tree: (tree.header("importance") or "") == "low"),
    "newsletters": (30, has("list-unsubscribe")),
    "answers in threads": (100, has("references")),
    "answers without Re:": (1, replies_without_re),
    "Japanese": (1, script_in_subject("\u3040", "\u30ff")),
    "emoji": (1, script_in_subject("\U0001f300", "\U0001faff")),
}
ONLY_IN = {
    "provider-a": {
        "koi8-r": (2, charset_is("koi8-r")),
        "Cyrillic": (2, script_in_subject("\u0400", "\u04ff")),
        "a mail to the account itself": (
            1,
            lambda mail, tree: mail.folder == "inbox" and "SENT" in mail.labels,
        ),
    },
    "provider-b": {
        "Arabic": (3, script_in_subject("\u0600", "\u06ff")),
        "Hebrew": (3, script_in_subject("\u0590", "\u05ff")),
        "gb2312": (1, charset_is("gb2312")),
    },
}
CASES = [(box, word) for box in MAILBOXES for word in PROMISED | ONLY_IN[box]]


@pytest.mark.parametrize(("box", "word"), CASES, ids=lambda value: value)
def test_each_mailbox_holds_what_the_specification_promises(trees, box, word):
    least, predicate = (PROMISED | ONLY_IN[box])[word]

    assert sum(predicate(mail, tree) for mail, tree in trees[box]) >= least


@pytest.mark.parametrize("box", MAILBOXES)
def test_labels_have_spaces_slashes_and_mixed_case(seeded, box):
    _, mails, _ = seeded
    names = {label.name for label in mails.user_labels(box)}
    used = {label for mail in mails.all(box) for label in mail.labels}

    assert {"VIP", "To Do", "Enquiries", "Insurance & Bank", "Someday/Maybe"} <= names
    assert any("/" in name and " " in name for name in names & used)
    assert {"VIP", "To Do"} <= used
    assert not any(name.startswith("CATEGORY") or name == "SENT" for name in names)


@pytest.mark.parametrize("box", MAILBOXES)
def test_some_mail_has_another_recipient_and_copies(seeded, trees, box):
    me = seeded[1].account(box).email

    assert any(
        me in {address.address for address in tree.addresses("to")}
        and len(tree.addresses("to")) == 2
        and tree.addresses("cc")
        and mail.folder == "inbox"
        for mail, tree in trees[box]
    )


@pytest.mark.parametrize("box", MAILBOXES)
def test_some_times_are_equal_and_some_dates_wrong(seeded, trees, box):
    """Three mails of one millisecond, five of one second, and Dates far from the received time."""
    received = Counter(mail.received_ms for mail in seeded[1].all(box))
    years = {(tree.header("date") or "").split(" ")[3:4] == ["2038"] for _, tree in trees[box]}

    assert max(received.values()) == 3
    assert max(Counter(moment // 1000 for moment in received.elements()).values()) == 5
    assert True in years


def test_one_mail_is_in_both_mailboxes(trees):
    ids = [{tree.header("message-id") for _, tree in trees[box]} - {None} for box in MAILBOXES]

    assert len(ids[0] & ids[1]) == 1


@pytest.mark.parametrize("box", MAILBOXES)
def test_every_day_of_the_last_week_has_mail(seeded, box):
    days = {
        datetime.fromtimestamp(mail.received_ms / 1000, UTC).date()
        for mail in seeded[1].all(box)
        if mail.folder == "inbox"
    }

    assert {date(2026, 11, day) for day in range(13, 20)} <= days


@pytest.mark.slow
async def test_both_apis_return_every_mail():
    state = open_state(None)
    facts = world.seed(state.database, state.mails, NOW)
    sandbox = Sandbox(state, public_base="http://sandbox.test")
    sandbox.upstreams["providerA"].quota.allowance = None
    reads = {
        "provider-a": (
            ("providerA", ("https://www.googleapis.com/auth/gmail.readonly",)),
            "/provider-a/gmail/v1/users/me/messages/",
        ),
        "provider-b": (("providerB", ("Mail.Read",)), "/provider-b/v1.0/me/messages/"),
    }
    for box, ((upstream, scopes), path) in reads.items():
        token = state.tokens.issue(upstream, facts.accounts[box], scopes)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=sandbox),
            base_url="http://sandbox.test",
            headers={"authorization": f"Bearer {token}"},
        ) as client:
            codes = Counter(
                [(await client.get(path + mail.id)).status_code for mail in state.mails.all(box)]
            )

            assert codes == {200: facts.mails[box]}
