"""Every mail connector: searches do not tell what is in hidden fields."""

import pytest
from mail_cases import HIDDEN, PICTURED, VISIBLE
from mail_upstreams import LISTED, TEXT

from providers.ports.mail import MailQuery


@pytest.mark.parametrize(("fields", "word"), HIDDEN.values(), ids=HIDDEN.keys())
async def test_words_do_not_match_in_hidden_fields(account, fields, word):
    account.add(
        "The lease",
        cc="Dora Dean <dora@west.example>",
        body="Toast with marmalade. " + "Filler words. " * 40 + "An epilogue.",
    )
    query = MailQuery(text=word, text_fields=fields)
    everywhere = MailQuery(text=word, text_fields=TEXT)

    answer = await account.port.search(query, after=None, projection={"subject"})

    assert answer.emails == ()
    assert (answer.total, answer.total_exact, answer.exhausted) == (0, True, True)
    assert len((await account.port.search(everywhere, after=None, projection=LISTED)).emails) == 1


@pytest.mark.parametrize(("fields", "word"), HIDDEN.values(), ids=HIDDEN.keys())
async def test_matches_in_hidden_fields_change_no_result(account, fields, word):
    for minute in range(20):
        account.add(
            "The lease",
            at=minute,
            cc="Dora Dean <dora@west.example>",
            body="Toast with marmalade. " + "Filler words. " * 40 + "An epilogue.",
        )
    results = []
    for text in ("first", word, "nowhere"):  # the first search looks up the folders
        account.forget_calls()
        query = MailQuery(text=text, text_fields=fields, limit=1)
        answer = await account.port.search(query, after=None, projection={"subject"})
        calls = [call["path"] for call in account.upstream.calls]
        results.append((answer, calls))

    assert results[1] == results[2]


ASKED_OF = {
    "an address": ("dora@west.example", "dora@east.example"),
    "a domain": ("@west.example", "@north.example"),
    "part of a name": ("Dora", "Nora"),
}


@pytest.mark.parametrize(("hidden", "nowhere"), ASKED_OF.values(), ids=ASKED_OF.keys())
async def test_recipients_in_hidden_copies_leave_no_trace(account, hidden, nowhere):
    for minute in range(20):
        account.add("The lease", at=minute, cc="Dora Dean <dora@west.example>")
    results = []
    for recipient in ("first", hidden, nowhere):  # the first search looks up the folders
        account.forget_calls()
        query = MailQuery(recipient=recipient, recipient_in_cc=False, limit=1)
        answer = await account.port.search(query, after=None, projection={"subject"})
        calls = [call["path"] for call in account.upstream.calls]
        results.append((answer, calls))

    assert results[1] == results[2]


@pytest.mark.parametrize(("fields", "word"), VISIBLE.values(), ids=VISIBLE.keys())
async def test_words_match_in_visible_fields(account, fields, word):
    account.add("Nothing of it", at=1, author="Else <else@south.example>")
    account.add(
        "The lease",
        cc="Dora Dean <dora@west.example>",
        author="North <n@north.example>",
        body="Toast with marmalade. " + "Filler words. " * 40 + "An epilogue.",
    )

    matching = await account.subjects(text=word, text_fields=fields)

    assert matching == ["The lease"]


@pytest.mark.parametrize(("text", "matching"), PICTURED.values(), ids=PICTURED.keys())
async def test_emoji_are_words(account, text, matching):
    account.add("Jam 🎉", at=2)
    account.add("Jam", at=1)
    account.add("News 🎉", at=0)

    assert await account.subjects(text=text, text_fields=TEXT) == matching


async def test_markup_is_not_searched(account):
    account.add(
        "The lease",
        author="Marmalade <desk@north.example>",
        body="Toast.",
        html='<p class="marmalade">Toast.</p>',
    )
    visible = frozenset({"subject", "body"})

    assert await account.subjects(text="marmalade", text_fields=visible) == []
    assert await account.subjects(text="toast", text_fields=visible) == ["The lease"]
