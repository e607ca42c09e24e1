"""The cost of a listing does not grow with the mailbox."""

from datetime import date

import pytest
from mail_upstreams import LISTED, TEXT, opened

from providers.mail import scanning
from providers.ports.mail import MailQuery
from sandbox.mail.store import NewMail
from sandbox.volume import mail as volume
from sandbox.world.mail import mailboxes

MESSAGES = 30_000  # one in a thousand makes a page of them
MAX_UNITS = 1500
MAX_PAGES = 5

# query -> its value in the demo's mailbox and in the large one
QUERIES = {
    "everything": lambda known: {},
    "a sender": lambda known: {"sender": known["name"]},
    "an address": lambda known: {"sender": known["address"]},
    "a domain": lambda known: {"sender": "@" + known["address"].partition("@")[2]},
    "a recipient": lambda known: {"recipient": known["recipient"]},
    "a subject": lambda known: {"subject": known["word"]},
    "a label": lambda known: {"label": known["label"]},
    "with attachments": lambda known: {"has_attachment": True},
    "without attachments": lambda known: {"has_attachment": False},
    "unread": lambda known: {"unread": True},
    "a word": lambda known: {"text": known["word"], "text_fields": TEXT},
    "a word where the body is hidden": lambda known: {
        "text": known["word"],
        "text_fields": TEXT - {"body", "body_preview"},
    },
}
LARGE = [
    {"name": "Rosalind", "address": "rosalind@rare.example", "word": volume.RARE_WORD},
    {"name": "Guest 7", "address": "guest7@visitors.example", "word": volume.WORD},
]


async def costs(account, known):
    """Return query -> for the first two pages: calls, quota units, and results."""
    measured = {}
    await account.port.search(MailQuery(), after=None, projection=LISTED)  # labels and folders
    for name, query in QUERIES.items():
        after, pages = None, []
        for _ in range(2):
            account.forget_calls()
            answer = await account.port.search(
                MailQuery(limit=20, **query(known)), after=after, projection=LISTED
            )
            calls = list(account.upstream.calls)
            outer = [call for call in calls if call["batch"] is None]
            units = sum(call.get("units", 0) for call in calls)
            pages.append((len(outer), units, len(answer.emails)))
            if answer.exhausted:
                break
            after = answer.scanned_to or scanning.position(answer.emails[-1])
        measured[name] = pages
    return measured


async def known_of_demo(account):
    """Return values that some messages of the demo's mailbox match."""
    answer = await account.port.search(MailQuery(limit=50), after=None, projection=LISTED)
    email = next(email for email in answer.emails if email.from_.name and email.subject)
    label = account.sandbox.state.mails.user_labels(account.mailbox)[0].name
    return {
        "name": email.from_.name.split()[0],
        "address": email.from_.email,
        "recipient": email.to[0].email,
        "word": max(email.subject.split(), key=len).strip(".,:;!?"),
        "label": label,
    }


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_a_large_mailbox_costs_what_a_small_one_costs(provider, monkeypatch):
    monkeypatch.setattr(scanning, "MAX_SECONDS", 600.0)  # the sandbox may be slow
    async with opened(provider) as account:
        state = account.sandbox.state
        mailboxes.seed(state.database, state.mails)
        demo = await costs(account, await known_of_demo(account))
    async with opened(provider) as account:
        volume.fill(
            account.sandbox.state.mails, account.mailbox, date(2026, 11, 20), messages=MESSAGES
        )
        common = {"recipient": "desk 3", "label": volume.LABEL}
        large = [await costs(account, {**known, **common}) for known in LARGE]

    print(f"{provider}: (calls, units, results) by page")  # noqa: T201 - the figures of -s
    for name, pages in demo.items():
        print(f"  {name}: demo {pages}, large {[measured[name] for measured in large]}")  # noqa: T201
    for measured in large:
        for name, pages in measured.items():
            assert pages[0][2] == 20, name
            for number, (calls, units, _) in enumerate(pages):
                assert calls <= 2 * demo[name][min(number, len(demo[name]) - 1)][0], name
                assert calls <= MAX_PAGES + 1
                assert units <= MAX_UNITS


@pytest.mark.slow
def test_a_large_mailbox_has_what_searches_look_for():
    mails = []

    class Store:
        def add_label(self, mailbox, name):
            assert (mailbox, name) == ("provider-a", volume.LABEL)

        def account(self, mailbox):
            return type("Account", (), {"email": "me@provider-a.example"})

        def add_many(self, mailbox, new):
            mails.extend(new)

    volume.fill(Store(), "provider-a", date(2026, 11, 20), messages=4000)

    assert all(isinstance(mail, NewMail) for mail in mails)
    assert len(mails) == 4000
    assert len({mail.raw for mail in mails}) == volume.TEXTS
    times = [mail.received_ms for mail in mails]
    assert times == sorted(times, reverse=True)
    assert sum(b"sextant" in mail.raw for mail in mails) == 4
    assert sum(volume.LABEL in mail.labels for mail in mails) == 40
