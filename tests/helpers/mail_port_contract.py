"""
The contract of every mail connector, whatever its upstream; run by `test_adapters`.

Each test takes `account`, an empty `mailworld.Account` of the provider in question.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from mail_upstreams import ALL, LISTED, MAILBOXES, NOON, TEXT, UPSTREAMS

from providers.failures import (
    Broken,
    Impossible,
    Missing,
    OutcomeUnknown,
    Refused,
    Throttled,
    TimedOut,
    Unreachable,
)
from providers.mail import delivery
from providers.ports.mail import (
    WITHDRAWN,
    Draft,
    Forward,
    MailChange,
    MailQuery,
    NoReplyRecipient,
    Reply,
    SendAttempt,
    UnsafeMessage,
)
from providers.records.base import to_epoch_ms
from providers.records.mail import Participant
from providers.write_fence import TakenOver
from sandbox.mail.store import Account as SandboxAccount

BOB = Participant(email="bob@south.example", name="Bob Brown")

HOSTILE_IDS = ("", ".", "..", "../../x", "a/b?x=1", "a#f", "a%2Fb", "a b", "a\n", "é", "x" * 600)

# -- order and pages


@pytest.mark.parametrize("limit", [1, 7, 20, 50])
async def test_pages_neither_lose_nor_repeat_messages(account, limit):
    ids = [account.add(f"Mail {number}", at=number // 4) for number in range(61)]

    emails = await account.every(MailQuery(limit=limit), wanted={"subject"})

    assert sorted(email.id for email in emails) == sorted(ids)
    ranks = [(-to_epoch_ms(email.received_at), email.id) for email in emails]
    assert ranks == sorted(ranks)


async def test_mail_that_arrives_between_pages_does_not_change_them(account):
    ids = [account.add(f"Mail {number}", at=number // 3) for number in range(20)]

    def arrive(page):
        account.add(f"Late {page}", at=1000 + page)

    emails = await account.every(MailQuery(limit=3), wanted=LISTED, between=arrive)

    assert sorted(email.id for email in emails) == sorted(ids)


async def test_messages_of_one_instant_may_fill_several_pages(account):
    ids = [account.add(f"Same {number}", at=5) for number in range(30)]

    emails = await account.every(MailQuery(limit=4), wanted={"subject"})

    assert [email.id for email in emails] == sorted(ids)


async def test_all_that_match_are_counted(account):
    for number in range(9):
        account.add(f"Mail {number}", at=number)

    answer = await account.port.search(MailQuery(limit=4), after=None, wanted={"subject"})

    assert (len(answer.emails), answer.total, answer.total_exact) == (4, 9, True)


async def test_an_empty_mailbox_is_an_empty_answer(account):
    answer = await account.port.search(MailQuery(), after=None, wanted=LISTED)

    assert answer.emails == ()
    assert (answer.exhausted, answer.total, answer.total_exact) == (True, 0, True)


# -- filters

FILTERS = {
    "a sender by the whole address": ({"sender": "ANN@north.example"}, ["plan", "lease"]),
    "a sender's address is whole or nothing": ({"sender": "nn@north.example"}, []),
    "a sender by a word of the name": ({"sender": "author"}, ["plan", "lease"]),
    "a sender by words": ({"sender": "Ann AUTHOR"}, ["plan", "lease"]),
    "a sender by the end of a word": ({"sender": "uthor"}, []),
    "a sender by the beginning of the address": ({"sender": "DESK@"}, ["news"]),
    "a sender by part of the address": ({"sender": "nn@nor"}, []),
    "a sender by part of the domain": ({"sender": "orth.exam"}, []),
    "a sender by domain": ({"sender": "@SOUTH.example"}, ["news"]),
    "a sender's domain is whole": ({"sender": "@outh.example"}, []),
    "a recipient in To": ({"recipient": "carl@east.example"}, ["plan"]),
    "a recipient in Cc": ({"recipient": "dora@west.example"}, ["lease"]),
    "a recipient by domain": ({"recipient": "@west.example"}, ["lease"]),
    "a recipient by a word of the name": ({"recipient": "DORA"}, ["lease"]),
    "a participant who sends": ({"participant": "ANN@north.example"}, ["plan", "lease"]),
    "a participant in To": ({"participant": "carl@east.example"}, ["plan"]),
    "a participant in Cc": ({"participant": "dora@west.example"}, ["lease"]),
    "a participant by domain": ({"participant": "@west.example"}, ["lease"]),
    "a recipient by the middle of the name": ({"recipient": "ORA D"}, []),
    "a word as the subject": ({"subject": "LEASE"}, ["lease"]),
    "the end of a word of the subject": ({"subject": "EASE"}, []),
    "words of the subject": ({"subject": "date for - the plan!"}, ["plan"]),
    "words of the subject in another order": ({"subject": "plan the"}, []),
    "a subject without words": ({"subject": "--"}, []),
    "a subject is no query": ({"subject": 'lease" OR subject:"plan'}, []),
    "a label in any case": ({"label": "client work"}, ["lease"]),
    "a label is whole": ({"label": "client"}, []),
    "an unknown label": ({"label": "nowhere"}, []),
    "unread": ({"unread": True}, ["news", "lease"]),
    "strictly after": ({"after": NOON + timedelta(seconds=10)}, ["news"]),
    "strictly before": ({"before": NOON + timedelta(seconds=10)}, ["lease"]),
    "with an attachment": ({"has_attachment": True}, ["plan"]),
    "without an attachment": ({"has_attachment": False}, ["news", "lease"]),
    "a sender is no query": ({"sender": "ann@north.example OR in:trash"}, []),
    "several at once": ({"sender": "@north.example", "unread": True}, ["lease"]),
    "a word of the body": ({"text": "marmalade", "text_fields": TEXT}, ["lease"]),
    "a word of the subject": ({"text": "PLAN", "text_fields": TEXT}, ["plan"]),
    "words in different places": ({"text": "marmalade lease", "text_fields": TEXT}, ["lease"]),
    "all words": ({"text": "marmalade plan", "text_fields": TEXT}, []),
    "a phrase": ({"text": '"for the plan"', "text_fields": TEXT}, ["plan"]),
    "a phrase in its order": ({"text": '"plan the for"', "text_fields": TEXT}, []),
    "a word of the sender": ({"text": "author", "text_fields": TEXT}, ["plan", "lease"]),
    "a word of a recipient": ({"text": "dora", "text_fields": TEXT}, ["lease"]),
    "operators are words": ({"text": "from:ann OR in:trash", "text_fields": TEXT}, []),
    "no word at all": ({"text": '"" -- !', "text_fields": TEXT}, []),
    "words and a filter": ({"text": "author", "text_fields": TEXT, "unread": True}, ["lease"]),
    "trash by its label": ({"label": "Trash"}, ["thrown away"]),
    "spam by its label": ({"label": "spam"}, ["junk"]),
    "drafts by their label": ({"label": "DRAFT"}, ["unfinished"]),
}


@pytest.mark.parametrize(
    ("query", "subjects"), [pytest.param(*row, id=name) for name, row in FILTERS.items()]
)
async def test_a_filter_returns_the_matching_messages(account, query, subjects):
    fill(account)

    matching = await account.subjects(limit=2, **query)

    assert [short(account, subject) for subject in matching] == subjects


BEGINNINGS = {
    "of the last word of a sender": ({"sender": "Ann AUTH"}, ["plan", "lease"]),
    "of the name of a recipient": ({"recipient": "DORA D"}, ["lease"]),
    "of the last word of a subject": ({"subject": "for the pl"}, ["plan"]),
    "of the only word of a subject": ({"subject": "LEA"}, ["lease"]),
}


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
    await account.port.search(MailQuery(label="Rare"), after=None, wanted=LISTED)
    account.forget_calls()

    query = MailQuery(**PUSHED_DOWN[name])
    answer = await account.port.search(query, after=None, wanted={"subject"})

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
    await account.port.search(MailQuery(), after=None, wanted=LISTED)  # learns labels and folders
    query = MailQuery(text="🎉", text_fields=TEXT - {"body"}, limit=limit)

    after, answers = None, []
    while not answers or not answers[-1].exhausted:
        account.forget_calls()
        answers.append(await account.port.search(query, after=after, wanted=LISTED))
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


SHORT = {
    "The lease": "lease",
    "A date for the plan": "plan",
    "Hello": "news",
    "Gone": "thrown away",
    "Buy": "junk",
    "Begun": "unfinished",
}


def short(account, subject):
    return SHORT[subject]


# -- what may not be told

HIDDEN = {
    "a hidden body": (TEXT - {"body", "body_preview"}, "marmalade"),
    "a hidden body behind its preview": (TEXT - {"body"}, "epilogue"),
    "a hidden sender": (TEXT - {"from_"}, "author"),
    "hidden recipients": (TEXT - {"to", "cc"}, "dora"),
    "everything but the subject": (frozenset({"subject"}), "marmalade"),
}


@pytest.mark.parametrize(("fields", "word"), HIDDEN.values(), ids=HIDDEN.keys())
async def test_words_do_not_match_in_hidden_fields(account, fields, word):
    account.add(
        "The lease",
        cc="Dora Dean <dora@west.example>",
        body="Toast with marmalade. " + "Filler words. " * 40 + "An epilogue.",
    )
    query = MailQuery(text=word, text_fields=fields)
    everywhere = MailQuery(text=word, text_fields=TEXT)

    answer = await account.port.search(query, after=None, wanted={"subject"})

    assert answer.emails == ()
    assert (answer.total, answer.total_exact, answer.exhausted) == (0, True, True)
    assert len((await account.port.search(everywhere, after=None, wanted=LISTED)).emails) == 1


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
        answer = await account.port.search(query, after=None, wanted={"subject"})
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
        answer = await account.port.search(query, after=None, wanted={"subject"})
        calls = [call["path"] for call in account.upstream.calls]
        results.append((answer, calls))

    assert results[1] == results[2]


VISIBLE = {
    "the subject": (frozenset({"subject"}), "lease"),
    "the preview": (frozenset({"body_preview"}), "marmalade"),
    "the preview by the beginning of a word": (frozenset({"body_preview"}), "marm"),
    "the body": (frozenset({"body"}), "epilogue"),
    "the sender": (frozenset({"from_"}), "north"),
    "the sender by an address": (frozenset({"from_"}), "n@north"),
    "the copy": (frozenset({"cc"}), "dean"),
    "the copy by a phrase": (frozenset({"cc"}), '"dora dean"'),
}


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


PICTURED = {
    "a picture": ("🎉", ["Jam 🎉", "News 🎉"]),
    "a picture with a word": ("🎉 jam", ["Jam 🎉"]),
    "a picture in a phrase": ('"news 🎉"', ["News 🎉"]),
    "a picture that nobody sent": ("✨ jam", []),
}


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


# -- one message


async def test_a_message_is_read_whole(account):
    name = account.add(
        "Übersicht",
        at=3.25,
        author='"Zoë, Ltd." <zoe@north.example>',
        to="me@example.com, Bob Brown <bob@south.example>",
        cc="carl@east.example",
        labels=("Client Work",),
        body="Grüße\n",
        html="<p>Grüße</p>",
        files=[("größe.pdf", "application/pdf", b"%PDF-1.7")],
        headers=[("Importance", "High")],
        sent=NOON - timedelta(minutes=5),
    )

    email = await account.port.get(name, wanted=ALL)

    assert email.id == name
    assert email.subject == "Übersicht"
    assert email.from_ == Participant(email="zoe@north.example", name="Zoë, Ltd.")
    assert email.to == (Participant(email="me@example.com"), BOB)
    assert email.cc == (Participant(email="carl@east.example"),)
    assert email.bcc == ()
    assert email.body_preview == "Grüße"
    assert (email.body.strip(), email.body_type) == ("<p>Grüße</p>", "html")
    assert email.sent_at == NOON - timedelta(minutes=5)
    assert email.received_at.replace(microsecond=0) == NOON + timedelta(seconds=3)
    assert (email.is_read, email.has_attachments, email.importance) == (False, True, "high")
    assert [
        (attachment.name, attachment.content_type, attachment.size, attachment.is_inline)
        for attachment in email.attachments
    ] == [("größe.pdf", "application/pdf", 8, False)]
    assert email.attachments[0].id
    assert "Client Work" in email.labels
    assert "UNREAD" not in email.labels


async def test_inline_images_are_no_attachments_to_speak_of(account):
    name = account.add("Hello", html="<img>", inline=[("dot.png", "image/png", b"\x89PNG")])

    email = await account.port.get(name, wanted=ALL)

    assert email.has_attachments is False
    assert [(attachment.name, attachment.is_inline) for attachment in email.attachments] == [
        ("dot.png", True)
    ]


async def test_has_attachments_is_right_without_the_attachments(account):
    account.add("With", at=2, files=[("plan.pdf", "application/pdf", b"%PDF-1.7")])
    account.add("Without", at=1)

    emails = await account.every(MailQuery(), wanted={"has_attachments"})

    assert [email.has_attachments for email in emails] == [True, False]


async def test_unwanted_attributes_are_none(account):
    name = account.add("Hello", labels=("Client Work",))

    email = await account.port.get(name, wanted=frozenset({"id"}))

    assert [
        getattr(email, attribute)
        for attribute in ("subject", "from_", "to", "cc", "bcc", "body", "body_type", "labels")
    ] == [None] * 8
    assert (email.body_preview, email.attachments, email.importance) == (None, None, None)


SIEVES = {
    "a sender": {"sender": "ann@north.example"},
    "a recipient": {"recipient": "me@example.com"},
    "a participant": {"participant": "me@example.com"},
    "part of a name": {"sender": "author"},
    "a label": {"label": "client work"},
    "words of a body": {"text": "words", "text_fields": TEXT - {"cc"}},
    "words of a preview": {"text": "words", "text_fields": TEXT - {"body"}},
}


@pytest.mark.parametrize("query", SIEVES.values(), ids=SIEVES.keys())
async def test_attributes_read_only_for_filtering_are_none(account, query):
    account.add("Hello", labels=("Client Work",))

    (email,) = await account.every(MailQuery(**query), wanted={"importance"})

    assert email.importance == "normal"
    masked = [email.subject, email.from_, email.to, email.cc, email.labels]
    assert [*masked, email.body_preview, email.body, email.body_type] == [None] * 8


@pytest.mark.parametrize("name", HOSTILE_IDS)
async def test_an_invalid_id_is_missing_without_an_upstream_call(account, name):
    forward = Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
    for call in (
        account.port.get(name, wanted=ALL),
        account.port.thread(name, wanted=ALL),
        account.port.reply(name, Reply(body="", attempt=SendAttempt(message_id="r@gw.example"))),
        account.port.forward(name, forward),
        account.port.trash(name),
        account.port.change(name, MailChange(read=True)),
    ):
        with pytest.raises(Missing):
            await call

    assert account.calls == []


async def test_an_unknown_id_is_missing(account):
    name = account.add("Hello")
    unknown = name[:-6] + "000000" if account.provider == "PROVIDER_A" else name[:-9] + "AAAAA_AA="

    with pytest.raises(Missing):
        await account.port.get(unknown, wanted=ALL)


# -- threads


async def test_a_thread_is_oldest_first_without_drafts_and_trash(account):
    first = account.add("Plan", at=1, message_id="<one@north.example>")
    thread = account.stored()[0].thread_id
    account.add("Re: Plan", at=4, thread=thread)
    account.add("Re: Plan, thrown away", at=3, thread=thread, folder="trash")
    account.add("Re: Plan, begun", at=5, thread=thread, folder="drafts")
    account.add("Re: Plan, earlier", at=2, thread=thread, folder="sent")
    account.add("Another", at=3)

    answer = await account.port.thread(thread, wanted=ALL)

    assert [email.subject for email in answer.messages] == ["Plan", "Re: Plan, earlier", "Re: Plan"]
    assert answer.messages[0].id == first
    assert {email.thread_id for email in answer.messages} == {thread} == {answer.id}
    assert all(email.body for email in answer.messages)


async def test_a_long_thread_is_read_completely(account):
    account.add("Plan", at=0)
    thread = account.stored()[0].thread_id
    for number in range(1, 70):
        account.add(f"Re: Plan {number}", at=number, thread=thread)

    answer = await account.port.thread(thread, wanted={"subject"})

    assert len(answer.messages) == 70
    assert answer.messages[-1].subject == "Re: Plan 69"


async def test_messages_and_threads_are_read_in_one_batch_each(account):
    ids = [account.add(f"Plan {number}", at=number) for number in range(12)]
    threads = [email.thread_id for email in account.stored()]
    alone = [await account.port.thread(name, wanted=ALL) for name in threads]
    each = [await account.port.get(name, wanted=ALL) for name in ids]
    account.forget_calls()

    read_threads = await account.port.threads(threads, wanted=ALL - {"body", "body_type"})
    read_emails = await account.port.get_many(ids, wanted=ALL)

    assert [len(calls) for calls in account.batches] == [12, 12]
    assert read_emails == dict(zip(ids, each, strict=True))
    assert {name: [email.id for email in read.messages] for name, read in read_threads.items()} == {
        read.id: [email.id for email in read.messages] for read in alone
    }


@pytest.mark.parametrize("name", HOSTILE_IDS)
async def test_invalid_and_missing_ids_are_left_out_of_a_batch(account, name):
    known = account.add("Hello")
    thread = account.stored()[0].thread_id
    cut, end = (6, "000000") if account.provider == "PROVIDER_A" else (9, "AAAAA_AA=")
    unknown = known[:-cut] + end
    account.add("Gone", folder="trash")
    (gone,) = {email.thread_id for email in account.stored()} - {thread}

    emails = await account.port.get_many([name, known, unknown], wanted=ALL)
    threads = await account.port.threads([gone, thread, name], wanted=ALL)

    assert list(emails) == [known]
    assert list(threads) == [thread]


async def test_a_long_thread_in_a_batch_is_read_completely(account):
    account.add("Plan", at=0)
    thread = account.stored()[0].thread_id
    for number in range(1, 70):
        account.add(f"Re: Plan {number}", at=number, thread=thread)
    account.add("Another", at=80)
    (other,) = {email.thread_id for email in account.stored()} - {thread}

    threads = await account.port.threads([thread, other], wanted={"subject"})

    assert {name: len(read.messages) for name, read in threads.items()} == {thread: 70, other: 1}


async def test_a_thread_of_trash_alone_is_missing(account):
    account.add("Gone", folder="trash")

    with pytest.raises(Missing):
        await account.port.thread(account.stored()[0].thread_id, wanted=ALL)


# -- changes


async def test_trashing_happens_once(account):
    name = account.add("Hello")

    await account.port.trash(name)

    assert [mail.folder for mail in account.stored()] == ["trash"]
    assert (await account.port.get(name, wanted={"subject"})).subject == "Hello"
    with pytest.raises(Impossible, match="in the trash"):
        await account.port.trash(name)
    with pytest.raises(Impossible, match="in the trash"):
        await account.port.change(name, MailChange(read=True))
    assert await account.subjects() == []


async def test_read_state_and_labels_change(account):
    name = account.add("Hello", labels=("Client Work", "Old"))

    changed = await account.port.change(
        name, MailChange(read=True, add_labels=("New One",), remove_labels=("OLD", "nowhere"))
    )

    mail = account.stored()[0]
    assert mail.is_read is True
    assert set(mail.labels) == {"Client Work", "New One"}
    assert (changed.email_id, changed.thread_id) == (name, mail.thread_id)
    await account.port.change(name, MailChange(read=False))
    assert account.stored()[0].is_read is False


async def test_a_refused_change_says_why(account):
    name = account.add("Hello")
    for fault in ("403", "500", "reset", "malformed"):
        account.fault(kind=fault)

        with pytest.raises(Impossible, match="could not be changed"):
            await account.port.change(name, MailChange(read=True))
        account.upstream.faults.clear()
    assert account.stored()[0].is_read is False


# -- sending


class Row:
    """
    What is committed of one intent, and the attempts that share it.

    Attributes:
        failure: Raised instead of storing.
    """

    def __init__(self):
        self.draft = None
        self.stored = []
        self.failure = None

    def attempt(self, message_id="one.1@gw.example", *, maybe_sent=False):
        return SendAttempt(
            message_id=message_id,
            maybe_sent=maybe_sent,
            draft_id=self.draft,
            store_draft=self.store,
        )

    async def store(self, draft_id):
        if self.failure is not None:
            raise self.failure
        self.draft = draft_id
        self.stored.append(draft_id)


def draft(attempt=None, **changes):
    written = {
        "to": (BOB,),
        "subject": "Plan",
        "body": "<p>See you.</p>",
        "attempt": attempt or SendAttempt(message_id="one.1@gw.example"),
    }
    return Draft(**(written | changes))


async def test_a_message_is_sent(account):
    await account.port.send(
        draft(
            cc=(Participant(email="carl@east.example"),),
            bcc=(Participant(email="dora@west.example", name="Dörte"),),
            subject="Grüße =?utf-8?q?x?=",
            importance="high",
        )
    )

    (mail,) = account.stored(folder="sent")
    email = await account.port.get(mail.immutable_id, wanted=ALL)
    assert email.subject == "Grüße =?utf-8?q?x?="
    assert (email.to, email.cc) == ((BOB,), (Participant(email="carl@east.example"),))
    assert email.bcc == (Participant(email="dora@west.example", name="Dörte"),)
    assert ("See you." in email.body, email.body_type) == (True, "html")
    assert email.importance == "high"


async def test_text_bodies_stay_text(account):
    await account.port.send(draft(body="a < b\nc", body_type="text"))

    (mail,) = account.stored(folder="sent")
    assert b"text/plain" in mail.raw
    assert b"text/html" not in mail.raw


async def test_a_retry_after_a_send_sends_nothing(account):
    row = Row()
    await account.port.send(draft(row.attempt()))
    account.forget_calls()

    await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert len(account.stored(folder="sent")) == 1
    assert [call["method"] for call in account.calls] == ["GET"]


async def test_the_draft_is_committed_before_it_is_sent(account):
    row = Row()
    calls = []

    async def store(draft_id):
        calls.extend(call["method"] for call in account.calls)
        await row.store(draft_id)

    await account.port.send(
        draft(SendAttempt(message_id="one.1@gw.example", draft_id=None, store_draft=store))
    )

    assert calls == ["POST"]
    assert len(row.stored) == 1
    assert len(account.stored(folder="sent")) == 1


async def test_an_attempt_that_was_taken_over_deletes_its_draft(account):
    row = Row()
    row.failure = TakenOver()

    with pytest.raises(TakenOver):
        await account.port.send(draft(row.attempt()))

    assert account.stored() == []


async def test_a_draft_of_unknown_commit_stays_for_the_retry(account):
    row = Row()

    async def store(draft_id):
        await row.store(draft_id)
        raise OSError

    with pytest.raises(OSError):
        await account.port.send(draft(SendAttempt(message_id="a@gw.example", store_draft=store)))
    assert [mail.folder for mail in account.stored()] == ["drafts"]

    await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert [mail.folder for mail in account.stored()] == ["sent"]
    assert len(row.stored) == 1


async def test_a_retry_sends_a_message_that_was_not_sent(account):
    await account.port.send(draft(Row().attempt(maybe_sent=True)))

    assert len(account.stored(folder="sent")) == 1


async def test_a_draft_that_was_being_deleted_is_of_unknown_outcome(account):
    row = Row()
    row.draft = WITHDRAWN

    with pytest.raises(OutcomeUnknown):
        await account.port.send(draft(row.attempt(maybe_sent=True)))

    assert account.calls == []


@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
async def test_a_message_sent_without_a_response_is_found(account, kind):
    account.fault(kind=kind, count=1, match="send", method="POST")

    await account.port.send(draft())

    assert len(account.stored(folder="sent")) == 1
    assert account.stored(folder="drafts") == []


async def test_a_lost_creation_sends_nothing(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="reset", count=1, match="", method="POST")

    with pytest.raises(Unreachable) as caught:
        await account.port.send(draft(Row().attempt()))

    assert caught.value.sent is False
    assert account.stored() == []


async def test_a_draft_whose_response_was_lost_is_found_and_sent(account):
    account.fault(kind="lostAnswer", count=1, match="", method="POST")
    row = Row()

    await account.port.send(draft(row.attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]
    assert len(row.stored) == 1


async def test_a_retry_deletes_the_drafts_of_earlier_attempts_and_no_others(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="lostAnswer", count=1, match="", method="POST")
    account.fault(kind="503", method="GET")  # of every look-up
    with pytest.raises(Unreachable):
        await account.port.send(draft(Row().attempt()))
    account.upstream.faults.clear()
    row = Row()
    row.failure = OSError()
    with pytest.raises(OSError):  # the process died before its commit
        await account.port.send(draft(row.attempt("one.2@gw.example")))
    with pytest.raises(OSError):
        await account.port.send(draft(row.attempt("other.1@gw.example"), subject="Another"))
    assert len(account.stored(folder="drafts")) == 3

    row.failure = None
    earlier = ("one.1@gw.example", "one.2@gw.example")
    await account.port.send(
        draft(replace(row.attempt("one.3@gw.example", maybe_sent=True), earlier_ids=earlier))
    )

    assert len(account.stored(folder="sent")) == 1
    assert [b"Another" in mail.raw for mail in account.stored(folder="drafts")] == [True]


async def test_a_retry_sends_although_no_draft_can_be_looked_up(account):
    account.fault(kind="503", method="GET")
    attempt = replace(Row().attempt("one.2@gw.example"), earlier_ids=("one.1@gw.example",))

    await account.port.send(draft(attempt))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_failed_send_is_not_repeated_and_may_be_retried(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    row = Row()
    account.fault(kind="500", count=1, match="send", method="POST")
    with pytest.raises(Broken):
        await account.port.send(draft(row.attempt()))
    assert (account.stored(), row.draft) == ([], None)

    await account.port.send(draft(row.attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_refused_send_leaves_no_draft(account):
    row = Row()
    account.fault(kind="400", count=1, match="send", method="POST")

    with pytest.raises(Refused):
        await account.port.send(draft(row.attempt()))

    assert (account.stored(), row.draft) == ([], None)


async def test_an_outcome_that_cannot_be_looked_up_is_unknown(account, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account.fault(kind="lostAnswer", count=1, match="send", method="POST")
    account.fault(kind="503", method="GET")
    account.fault(kind="503", method="DELETE")

    with pytest.raises(OutcomeUnknown):
        await account.port.send(draft(Row().attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


async def test_a_throttled_send_leaves_its_draft_to_the_retry(account):
    row = Row()
    account.fault(kind="429", retryAfter=7, count=1, match="send", method="POST")

    with pytest.raises(Throttled) as caught:
        await account.port.send(draft(row.attempt()))

    assert caught.value.retry_after == 7
    assert [mail.folder for mail in account.stored()] == ["drafts"]
    assert row.stored == [row.draft]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Plan\r\nBcc: eve@evil.example"},
        {"subject": "Plan\u2028"},
        {"subject": "Plan\ud800"},
        {"to": (Participant(email="bob@south.example", name="Bob\r\nBcc: eve@evil.example"),)},
        {"attempt": SendAttempt(message_id="x>\r\nBcc: eve@evil.example")},
    ],
    ids=["line break", "line separator", "surrogate", "name", "message id"],
)
async def test_an_unsafe_message_is_not_sent(account, changes):
    with pytest.raises(UnsafeMessage):
        await account.port.send(draft(**changes))

    assert account.stored() == []


async def test_a_send_that_is_not_answered_leaves_time_to_look_it_up(account, monkeypatch):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 3.0)
    monkeypatch.setattr(delivery, "LOOKUP_SECONDS", 2.7)
    account.fault(kind="drip", delay=0.6, count=1, match="send", method="POST")

    with delivery.time_limit():
        await account.port.send(draft(Row().attempt()))

    assert [mail.folder for mail in account.stored()] == ["sent"]


@pytest.mark.slow
async def test_an_upstream_that_answers_nothing_is_of_unknown_outcome(account, monkeypatch):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 0.5)
    monkeypatch.setattr(delivery, "LOOKUP_SECONDS", 0.25)
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    row = Row()

    async def store(draft_id):
        if draft_id:
            account.fault(kind="timeout")
        await row.store(draft_id)

    with delivery.time_limit(), pytest.raises(OutcomeUnknown):
        await account.port.send(draft(SendAttempt(message_id="a@gw.example", store_draft=store)))

    assert [mail.folder for mail in account.stored()] == ["drafts"]


# -- replies


def reply(**changes):
    attempt = SendAttempt(message_id="re.1@gw.example")
    return Reply(**({"body": "<p>Fine.</p>", "attempt": attempt} | changes))


def original(account, **changes):
    return account.add(
        "Plan",
        **(
            {
                "to": f"Me <{account.address.upper()}>, Bob Brown <bob@south.example>",
                "cc": f"carl@east.example, {account.address}",
                "body": "Shall we?",
                "message_id": "<plan@north.example>",
                "headers": [("References", "<root@north.example>")],
            }
            | changes
        ),
    )


async def sent(account):
    (mail,) = account.stored(folder="sent")
    return mail, await account.port.get(mail.immutable_id, wanted=ALL)


async def test_a_reply_goes_to_the_author_within_the_thread(account):
    name = original(account)

    await account.port.reply(name, reply())

    mail, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example"]
    assert email.cc == ()
    assert email.subject.lower() == "re: plan"
    assert email.thread_id == account.stored(folder="inbox")[0].thread_id
    assert b"In-Reply-To: <plan@north.example>" in mail.raw
    assert mail.raw.index(b"<root@north.example>") < mail.raw.rindex(b"<plan@north.example>")
    assert email.body.index("Fine.") < email.body.index("Shall we?")


async def test_a_reply_to_all_excludes_the_sending_account(account):
    name = original(account)

    await account.port.reply(name, reply(reply_all=True))

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example", "bob@south.example"]
    assert [recipient.email for recipient in email.cc] == ["carl@east.example"]


async def test_a_reply_to_all_excludes_every_address_of_the_account(account):
    mails = account.sandbox.state.mails
    names = ("sales@own.example", "me@tenant.onmicrosoft.example")
    sign_in_name = names[1] if account.provider == "PROVIDER_B" else ""
    mails.set_account(
        MAILBOXES[account.provider], SandboxAccount(account.address, "Me", sign_in_name, names)
    )
    to = f"{names[0].upper()}, bob@south.example"
    name = original(account, to=to, cc=f"{names[1]}, carl@east.example")

    await account.port.reply(name, reply(reply_all=True))

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["ann@north.example", "bob@south.example"]
    assert [recipient.email for recipient in email.cc] == ["carl@east.example"]


async def test_the_own_addresses_are_read_once(account):
    for number in range(2):
        name = original(account, message_id=f"<plan{number}@north.example>")
        attempt = SendAttempt(message_id=f"re.{number}@gw.example")
        await account.port.reply(name, reply(reply_all=True, attempt=attempt))

    below = {"PROVIDER_A": "/settings/sendAs", "PROVIDER_B": "/v1.0/me"}[account.provider]
    calls = account.sandbox.upstreams[UPSTREAMS[account.provider]].calls
    assert [call["path"].partition("?")[0].endswith(below) for call in calls].count(True) == 1


async def test_a_reply_to_a_message_from_an_alias_goes_to_its_recipients(account):
    mails = account.sandbox.state.mails
    alias = SandboxAccount(account.address, "Me", "", ("sales@own.example",))
    mails.set_account(MAILBOXES[account.provider], alias)
    name = original(account, author="sales@own.example")

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["bob@south.example"]


async def test_a_reply_goes_to_the_reply_to_address(account):
    name = original(account, headers=[("Reply-To", "Desk <desk@north.example>")])

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["desk@north.example"]


async def test_a_reply_to_an_own_message_goes_to_its_recipients(account):
    name = original(account, author=account.address)

    await account.port.reply(name, reply())

    _, email = await sent(account)
    assert [recipient.email for recipient in email.to] == ["bob@south.example"]


async def test_a_reply_without_recipients_is_refused(account):
    name = original(account, author=account.address, to=account.address, cc=None)

    for everyone in (False, True):
        with pytest.raises(NoReplyRecipient):
            await account.port.reply(name, reply(reply_all=everyone))

    assert account.stored(folder="sent") == account.stored(folder="drafts") == []


async def test_a_reply_need_not_quote(account):
    name = original(account)

    await account.port.reply(name, reply(quote=False))

    _, email = await sent(account)
    assert "Fine." in email.body
    assert "Shall we?" not in email.body


async def test_a_reply_is_sent_once(account):
    name = original(account)

    row = Row()
    await account.port.reply(name, reply(attempt=row.attempt()))
    await account.port.reply(name, reply(attempt=row.attempt(maybe_sent=True)))
    await account.port.forward(
        name, Forward(to=(BOB,), body="Look:", attempt=row.attempt(maybe_sent=True))
    )

    assert len(account.stored(folder="sent")) == 1
    assert account.stored(folder="drafts") == []


@pytest.mark.parametrize("action", ["reply", "forward"])
async def test_a_reply_whose_draft_got_no_response_is_sent_once(account, action):
    name = original(account)
    account.fault(kind="lostAnswer", count=1, match="", method="POST")

    await answer(account, name, action)

    _, email = await sent(account)
    assert (email.body.count("Fine."), email.body.count("Shall we?")) == (1, 1)
    assert account.stored(folder="drafts") == []


async def answer(account, name, action):
    if action == "reply":
        await account.port.reply(name, reply())
    else:
        forward = Forward(to=(BOB,), body="<p>Fine.</p>", attempt=reply().attempt)
        await account.port.forward(name, forward)


class RefusedRecipients(Exception):
    """The error of a check; not a failure of the provider."""


def refuse(people):
    raise RefusedRecipients([person.email for person in people])


async def test_the_derived_recipients_are_checked_before_anything_is_written(account):
    name = original(account, headers=[("Reply-To", "desk@north.example")])

    with pytest.raises(RefusedRecipients) as refusal:
        await account.port.reply(name, reply(reply_all=True, check_recipients=refuse))

    derived = ["desk@north.example", "bob@south.example", "carl@east.example"]
    assert refusal.value.args == (derived,)
    assert {call["method"] for call in account.calls} == {"GET"}
    assert account.stored(folder="drafts") == []


async def test_a_stored_draft_is_not_sent_when_its_recipients_are_refused_by_now(account):
    name = original(account)
    row = Row()

    async def commit_and_die(draft_id):
        await row.store(draft_id)
        raise asyncio.CancelledError

    first = SendAttempt(message_id="one.1@gw.example", store_draft=commit_and_die)
    with pytest.raises(asyncio.CancelledError):
        await account.port.reply(name, reply(attempt=first, check_recipients=lambda people: None))
    account.forget_calls()

    retry = row.attempt(maybe_sent=True)
    with pytest.raises(RefusedRecipients):
        await account.port.reply(name, reply(attempt=retry, check_recipients=refuse))

    assert {call["method"] for call in account.calls} == {"GET"}
    assert account.stored(folder="sent") == []
    assert len(account.stored(folder="drafts")) == 1


# -- forwards


async def test_a_forward_includes_the_attachments(account):
    name = account.add(
        "Plan",
        html="<p>Shall we?</p>",
        files=[("größe.pdf", "application/pdf", b"%PDF-1.7")],
        headers=[("References", "<root@north.example>")],
    )

    await account.port.forward(
        name,
        Forward(
            to=(BOB,),
            body="Look:",
            body_type="text",
            attempt=SendAttempt(message_id="fw.1@gw.example"),
        ),
    )

    _, email = await sent(account)
    assert email.to == (BOB,)
    assert email.subject.lower() in ("fwd: plan", "fw: plan")
    assert email.body.index("Look:") < email.body.index("Ann Author") < email.body.index("Shall we")
    assert [(attachment.name, attachment.size) for attachment in email.attachments] == [
        ("größe.pdf", 8)
    ]


async def test_a_forward_omits_hidden_fields(account):
    name = account.add("Plan", body="Shall we?", cc="Dora Dean <dora@west.example>")

    await account.port.forward(
        name,
        Forward(
            to=(BOB,),
            hidden=frozenset({"from_", "to", "cc", "subject"}),
            attempt=SendAttempt(message_id="fw.1@gw.example"),
        ),
    )

    _, email = await sent(account)
    text = email.body + email.subject
    assert "Shall we?" in text
    assert [word for word in ("Ann", "north", "dora", "Plan") if word in text] == []


# -- failures


async def test_a_throttle_is_reported_with_its_wait(account):
    account.add("Hello")
    account.fault(kind="429", retryAfter=9)

    with pytest.raises(Throttled) as caught:
        await account.port.search(MailQuery(), after=None, wanted=LISTED)

    assert caught.value.retry_after == 9


async def test_pages_of_fifty_for_three_callers_stay_within_what_an_account_may_do(account):
    """Upstream limits what an account runs at once; the calls of all callers share that."""
    for number in range(60):
        account.add(f"Mail {number}", body="unity " * 3, at=number)
    query = MailQuery(text="unity", text_fields=TEXT, limit=50)

    pages = await asyncio.gather(
        *(account.port.search(query, after=None, wanted=LISTED) for _ in range(3))
    )

    newest = [f"Mail {number}" for number in range(59, 9, -1)]
    assert [[email.subject for email in page.emails] for page in pages] == [newest] * 3
    assert [call for call in account.calls if call["fault"] is not None] == []
    assert len(account.batches) == 3 * account.batches_of_fifty
    assert max(map(len, account.batches)) <= {"PROVIDER_A": 25, "PROVIDER_B": 20}[account.provider]
    assert account.clock.sleeps == []


async def test_what_others_run_for_the_account_delays_a_page(account):
    for number in range(3):
        account.add(f"Mail {number}", body="unity", at=number)
    limit = account.upstream.concurrency
    limit.most = 2

    page = await account.port.search(
        MailQuery(text="unity", text_fields=TEXT), after=None, wanted=LISTED
    )

    assert [email.subject for email in page.emails] == ["Mail 2", "Mail 1", "Mail 0"]
    assert [call["fault"] for call in account.calls if call["batch"]].count("concurrency") == 1
    assert account.clock.sleeps == [1]


async def test_a_broken_connection_is_a_failure(account):
    account.add("Hello")
    account.fault(kind="reset")

    with pytest.raises((Unreachable, TimedOut)):
        await account.port.search(MailQuery(), after=None, wanted=LISTED)


async def test_a_probe_reads(account):
    await account.port.probe()

    assert {call["method"] for call in account.calls} == {"GET"}
