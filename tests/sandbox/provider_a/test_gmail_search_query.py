from email.message import EmailMessage

import pytest

from sandbox.mail.mime import parse as parse_mail
from sandbox.mail.store import MailStore
from sandbox.provider_a.gmail import search_index, search_query
from sandbox.provider_a.gmail.labels import label_ids, normalize_name
from sandbox.provider_a.gmail.search_index import Candidate
from sandbox.storage.database import Database

NOW = 1_767_600_000.0  # 2026-01-05T08:00:00Z
DAY = 86_400


def letter(**parts):
    message = EmailMessage()
    for name in ("From", "To", "Cc", "Bcc", "Subject", "Message-ID"):
        if name in parts:
            message[name] = parts[name]
    message.set_content(parts.get("text", "nothing"))
    if "file" in parts:
        message.add_attachment(
            b"%PDF", maintype="application", subtype="pdf", filename=parts["file"]
        )
    return message.as_bytes()


LEASE = letter(
    **{
        "From": "Amélie Ruiz <amelie.ruiz@acme.test>",
        "To": "me@x.test",
        "Cc": "Bob Stone <bob@y.test>",
        "Bcc": "hidden@z.test",
        "Subject": "Lease renewal 2026: draft",
        "Message-ID": "<lease-1@acme.test>",
    },
    text="Please find the signed-off contract in the annex. 東京タワー",
    file="Lease_annex-v2.pdf",
)


@pytest.fixture(scope="module")
def candidate():
    mails = MailStore(Database(":memory:"))
    mail = mails.add(
        "provider-a",
        LEASE,
        folder="inbox",
        labels=("Clients/Big One", "IMPORTANT"),
        is_starred=True,
        received_ms=int((NOW - 3 * DAY) * 1000),
    )
    labels = {label_id_.lower() for label_id_ in label_ids(mail, mails)} | {
        normalize_name("Clients/Big One")
    }
    index = search_index.index_message(parse_mail(LEASE))
    return Candidate(mail=mail, index=index, labels=labels)


FOUND = (
    "",
    "lease",
    "leas",  # a form of "lease", as far as the sandbox knows
    "subject:draft",
    "LEASE draft",
    "signed-off",
    '"signed off contract"',
    "amélie",
    "from:amelie.ruiz@acme.test",
    "from:acme",
    "from:(ruiz)",
    'from:"Amélie Ruiz"',
    "to:me@x.test",
    "cc:bob",
    "bcc:hidden@z.test",
    "subject:renewal",
    "subject:(draft lease)",
    'subject:"lease renewal"',
    "label:clients-big-one",
    'label:"Clients/Big One"',
    "label:inbox",
    "in:inbox",
    "in:anywhere",
    "is:unread",
    "is:starred",
    "is:important",
    "has:attachment",
    "has:userlabels",
    "filename:pdf",
    "filename:lease_annex-v2.pdf",
    f"after:{int(NOW - 4 * DAY)}",
    f"before:{int(NOW)}",
    "after:2026/01/01 before:2026-01-03",
    "newer_than:4d",
    "older_than:2d",
    "larger:100",
    "smaller:1M",
    "rfc822msgid:lease-1@acme.test",
    "rfc822msgid:<lease-1@acme.test>",
    "nothing-here OR lease",
    "{nothing lease}",
    "(nothing OR lease) draft",
    "from:(nobody OR ruiz)",
    "-nothing",
    "-from:nobody lease",
    "-(nobody nothing)",
    "東京",
    "subject:(renewal OR nothing) -is:read",
    "lease )",
    '"lease',
)
MISSED = (
    "ease",
    "subject:leas",
    "annexes",
    '"contract signed"',
    "from:ruizz",
    "from:bob",
    "to:bob",
    "subject:annex",
    'subject:"renewal lease"',
    "label:clients",
    "label:nothing",
    "in:trash",
    "in:sent",
    "is:read",
    "has:drive",
    "filename:docx",
    f"after:{int(NOW)}",
    f"before:{int(NOW - 4 * DAY)}",
    "after:2026/01/03",
    "newer_than:2d",
    "older_than:4d",
    "larger:1M",
    "smaller:100",
    "rfc822msgid:lease@acme.test",
    "nothing OR nobody",
    "{nothing nobody}",
    "lease nothing",
    "-lease",
    "-{lease nothing}",
    "nothing OR lease -draft",
    "after:yesterday",
    "larger:much",
)


@pytest.mark.parametrize("text", FOUND)
def test_a_query_finds(candidate, text):
    assert search_query.parse(text, now=NOW).test(candidate)


@pytest.mark.parametrize("text", MISSED)
def test_a_query_does_not_match(candidate, text):
    assert not search_query.parse(text, now=NOW).test(candidate)


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("in:trash", True),
        ("in:anywhere lease", True),
        ("(label:spam)", True),
        ("in:inbox", False),
        ("-in:trash", False),
        ("trash", False),
        ("subject:trash", False),
    ],
)
def test_only_some_queries_look_into_trash_and_spam(text, reaches):
    assert search_query.parse(text, now=NOW).reaches is reaches


@pytest.mark.parametrize(
    "text", ["(", ")", "-", "{", "from:", "OR", "a OR", '"', "-(", "subject:("]
)
def test_any_text_is_a_valid_query(candidate, text):
    assert search_query.parse(text, now=NOW).test(candidate) in {True, False}
