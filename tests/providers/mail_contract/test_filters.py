"""Every mail connector: which messages a filter returns, and what that costs upstream."""

import pytest
from mail_cases import BEGINNINGS, FILTERS, short
from mail_upstreams import LISTED, TEXT

from providers.ports.mail import MailQuery


@pytest.mark.parametrize(
    ("query", "subjects"), [pytest.param(*row, id=name) for name, row in FILTERS.items()]
)
async def test_a_filter_returns_the_matching_messages(account, query, subjects):
    fill(account)

    matching = await account.subjects(limit=2, **query)

    assert [short(account, subject) for subject in matching] == subjects


@pytest.mark.parametrize(("query", "subjects"), BEGINNINGS.values(), ids=BEGINNINGS.keys())
async def test_beginnings_of_words_are_found_where_upstream_finds_them(account, query, subjects):
    fill(account)

    matching = await account.subjects(limit=2, **query)

    expected = {"PROVIDER_A": [], "PROVIDER_B": subjects}[account.provider]
    assert [short(account, subject) for subject in matching] == expected


PUSHED_DOWN = {
    "a sender": {"sender": "Zoe"},
    "a recipient": {"recipient": "Zoe"},
    "a subject": {"subject": "rare words"},
    "a label": {"label": "Rare"},
    "attachments": {"has_attachment": True},
    "a domain": {"sender": "@rare.example"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUSHED_DOWN)
async def test_upstream_searches_for_a_filter(account, name):
    """The cost does not grow with the mailbox."""
    for number in range(300):
        account.add(f"Mail {number}", at=number)
    account.add(
        "Two rare words",
        at=-1,
        author="Zoe <zoe@rare.example>",
        to="Zoe <z@rare.example>",
        labels=("Rare",),
        files=[("a.pdf", "application/pdf", b"x")],
    )
    await account.port.search(MailQuery(label="Rare"), after=None, projection=LISTED)
    account.forget_calls()

    query = MailQuery(**PUSHED_DOWN[name])
    answer = await account.port.search(query, after=None, projection={"subject"})

    assert [email.subject for email in answer.emails] == ["Two rare words"]
    assert answer.exhausted
    assert len(account.upstream.calls) <= 3
    assert 1 <= len(account.upstream.calls) - len(account.batches) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 20, 50])
async def test_a_search_that_upstream_cannot_make_is_bounded(account, limit):
    """Each call reads a part of the mailbox, at most 1,500 quota units or five pages."""
    account.add("The one 🎉", at=-1)
    for number in range(400):
        account.add(f"Mail {number}", at=number)
    await account.port.search(
        MailQuery(), after=None, projection=LISTED
    )  # learns labels and folders
    query = MailQuery(text="🎉", text_fields=TEXT - {"body"}, limit=limit)

    after, answers = None, []
    while not answers or not answers[-1].exhausted:
        account.forget_calls()
        answers.append(await account.port.search(query, after=after, projection=LISTED))
        after = answers[-1].scanned_to
        gets = [call for call in account.calls if call["batch"]]
        assert len(account.calls) - len(gets) <= 5
        assert 20 * len(gets) + 5 * (len(account.calls) - len(gets)) <= 1500

    assert [email.subject for email in answers[-1].emails] == ["The one 🎉"]
    assert [answer.emails for answer in answers[:-1]] == [()] * (len(answers) - 1)
    assert not any(answer.total_exact for answer in answers[:-1])
    assert len(answers) == {"PROVIDER_A": 6, "PROVIDER_B": 1}[account.provider]


async def test_drafts_spam_and_trash_are_left_out(account):
    fill(account)

    matching = await account.subjects()

    assert [short(account, subject) for subject in matching] == ["news", "plan", "lease"]


def fill(account):
    account.add(
        "The lease",
        at=0,
        cc="Dora Dean <dora@west.example>",
        labels=("Client Work",),
        body="Toast with marmalade.",
        html="<p>Toast with <b>marmalade</b>.</p>",
    )
    account.add(
        "A date for the plan",
        at=10,
        read=True,
        to="Carl <carl@east.example>",
        files=[("plan.pdf", "application/pdf", b"%PDF-1.7")],
    )
    account.add(
        "Hello",
        at=20,
        author="News <desk@south.example>",
        html='<p>Look: <img src="cid:dot.png"></p>',
        inline=[("dot.png", "image/png", b"\x89PNG")],
    )
    account.add("Gone", at=30, folder="trash")
    account.add("Buy", at=40, folder="spam")
    account.add("Begun", at=50, folder="drafts", read=True)
