"""The IMAP connector on a real Dovecot, by the contract of every mail connector."""

from datetime import timedelta

import imap_account
import pytest
import pytest_asyncio
from dovecot import dovecot_server
from mail_cases import (
    BEGINNINGS,
    BOB,
    FILTERS,
    HIDDEN,
    HOSTILE_IDS,
    PICTURED,
    SIEVES,
    VISIBLE,
    short,
)
from mail_upstreams import ALL, LISTED, NOON, TEXT

from providers.connectors.imap import searching
from providers.failures import Missing
from providers.mail import scanning
from providers.ports.mail import MailQuery
from providers.records.base import to_epoch_ms
from providers.records.mail import Participant


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest_asyncio.fixture
async def account(dovecot):
    async with imap_account.opened(dovecot) as account:
        yield account


async def fill(account):
    await account.add(
        "The lease",
        at=0,
        cc="Dora Dean <dora@west.example>",
        labels=("Client Work",),
        body="Toast with marmalade.",
        html="<p>Toast with <b>marmalade</b>.</p>",
    )
    await account.add(
        "A date for the plan",
        at=10,
        read=True,
        to="Carl <carl@east.example>",
        files=[("plan.pdf", "application/pdf", b"%PDF-1.7")],
    )
    await account.add(
        "Hello",
        at=20,
        author="News <desk@south.example>",
        html='<p>Look: <img src="cid:dot.png"></p>',
        inline=[("dot.png", "image/png", b"\x89PNG")],
    )
    await account.add("Gone", at=30, folder="trash")
    await account.add("Buy", at=40, folder="spam")
    await account.add("Begun", at=50, folder="drafts", read=True)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 7, 20, 50])
async def test_pages_neither_lose_nor_repeat_messages(account, limit):
    for number in range(61):
        await account.add(f"Mail {number}", at=number // 4)

    emails = await account.every(MailQuery(limit=limit), projection={"subject"})

    assert sorted(email.subject for email in emails) == sorted(f"Mail {n}" for n in range(61))
    ranks = [(-to_epoch_ms(email.received_at), email.id) for email in emails]
    assert ranks == sorted(ranks)


@pytest.mark.slow
async def test_mail_that_arrives_between_pages_does_not_change_them(account):
    for number in range(20):
        await account.add(f"Mail {number}", at=number // 3)

    async def arrive(page):
        await account.add(f"Late {page}", at=1000 + page)

    emails = await account.every(MailQuery(limit=3), projection=LISTED, between=arrive)

    assert sorted(email.subject for email in emails) == sorted(f"Mail {n}" for n in range(20))


async def test_folders_are_merged_and_drafts_spam_and_trash_left_out(account):
    await fill(account)
    await account.session.command("CREATE", '"Client mail"')
    await account.add("Filed", at=15, folder="Client mail")
    await account.add("Answer", at=5, folder="sent")

    assert await account.subjects() == [
        "Hello",
        "Filed",
        "A date for the plan",
        "Answer",
        "The lease",
    ]


@pytest.mark.parametrize("limit", [4, 9, 20])
async def test_all_that_match_are_counted_on_every_page(account, limit):
    for number in range(9):
        await account.add(f"Mail {number}", at=number // 2)

    first = await account.port.search(MailQuery(limit=limit), after=None, projection={"subject"})
    after = scanning.position(first.emails[-1])
    second = await account.port.search(MailQuery(limit=limit), after=after, projection={"subject"})

    assert (first.total, first.total_exact) == (9, True)
    assert (second.total, second.total_exact) == (9 - len(first.emails), True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILTERS)
async def test_a_filter_returns_the_matching_messages(account, name):
    await fill(account)
    query, subjects = FILTERS[name]

    matching = await account.subjects(limit=2, **query)

    assert [short(account, subject) for subject in matching] == subjects


@pytest.mark.parametrize("name", BEGINNINGS)
async def test_beginnings_of_words_are_found(account, name):
    query, subjects = BEGINNINGS[name]
    await fill(account)

    matching = await account.subjects(limit=2, **query)

    assert [short(account, subject) for subject in matching] == subjects


@pytest.mark.parametrize("name", HIDDEN)
async def test_words_do_not_match_in_hidden_fields(account, dovecot, name):
    fields, word = HIDDEN[name]
    await account.add(
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


@pytest.mark.parametrize("name", VISIBLE)
async def test_words_match_in_visible_fields(account, name):
    fields, word = VISIBLE[name]
    await account.add("Nothing of it", at=1, author="Else <else@south.example>")
    await account.add(
        "The lease",
        cc="Dora Dean <dora@west.example>",
        author="North <n@north.example>",
        body="Toast with marmalade. " + "Filler words. " * 40 + "An epilogue.",
    )

    assert await account.subjects(text=word, text_fields=fields) == ["The lease"]


@pytest.mark.parametrize("name", PICTURED)
async def test_emoji_are_words(account, name):
    text, matching = PICTURED[name]
    await account.add("Jam 🎉", at=2)
    await account.add("Jam", at=1)
    await account.add("News 🎉", at=0)

    assert await account.subjects(text=text, text_fields=TEXT) == matching


@pytest.mark.parametrize("name", SIEVES)
async def test_attributes_read_only_for_filtering_are_none(account, name):
    await account.add("Hello", labels=("Client Work",))

    (email,) = await account.every(MailQuery(**SIEVES[name]), projection={"importance"})

    assert email.importance == "normal"
    masked = [email.subject, email.from_, email.to, email.cc, email.labels]
    assert [*masked, email.body_preview, email.body, email.body_type] == [None] * 8


async def test_a_message_is_read_whole(account):
    await account.add(
        "Übersicht",
        at=3,
        author='"Zoë, Ltd." <zoe@north.example>',
        to="me@example.com, Bob Brown <bob@south.example>",
        cc="carl@east.example",
        labels=("Client Work", "Küche & Bad"),
        body="Grüße\n",
        html="<p>Grüße</p>",
        files=[("größe.pdf", "application/pdf", b"%PDF-1.7")],
        headers=[("Importance", "High")],
        sent=NOON - timedelta(minutes=5),
    )
    (listed,) = await account.every(MailQuery(), projection=LISTED)

    email = await account.port.get(listed.id, projection=ALL)

    assert email.subject == "Übersicht"
    assert email.from_ == Participant(email="zoe@north.example", name="Zoë, Ltd.")
    assert email.to == (Participant(email="me@example.com"), BOB)
    assert email.cc == (Participant(email="carl@east.example"),)
    assert email.bcc == ()
    assert email.body_preview == "Grüße"
    assert (email.body.strip(), email.body_type) == ("<p>Grüße</p>", "html")
    assert email.sent_at == NOON - timedelta(minutes=5)
    assert email.received_at == NOON + timedelta(seconds=3)
    assert (email.is_read, email.has_attachments, email.importance) == (False, True, "high")
    (attachment,) = email.attachments
    assert (attachment.name, attachment.content_type, attachment.is_inline) == (
        "größe.pdf",
        "application/pdf",
        False,
    )
    assert email.labels == ("INBOX", "Client Work", "Küche & Bad")
    assert listed == type(email)(**{name: getattr(email, name) for name in LISTED | {"provider"}})


async def test_reading_does_not_mark_a_message_as_read(account):
    await account.add("Hello")
    (listed,) = await account.every(MailQuery(), projection=ALL)

    email = await account.port.get(listed.id, projection=ALL)

    assert email.is_read is False


@pytest.mark.parametrize("name", HOSTILE_IDS)
async def test_an_invalid_id_is_missing(account, name):
    with pytest.raises(Missing):
        await account.port.get(name, projection=ALL)
    with pytest.raises(Missing):
        await account.port.thread(name, projection=ALL)


async def test_an_id_of_a_removed_message_or_a_replaced_folder_is_missing(account):
    await account.session.command("CREATE", "Client")
    await account.add("Removed", folder="Client")
    (removed,) = await account.every(MailQuery(), projection={"subject"})
    await account.session.command("DELETE", "Client")
    with pytest.raises(Missing):
        await account.port.get(removed.id, projection=ALL)

    await account.session.command("CREATE", "Client")
    await account.add("Another", folder="Client")
    with pytest.raises(Missing):
        await account.port.get(removed.id, projection=ALL)
    assert await account.subjects() == ["Another"]


async def test_a_message_is_found_in_a_folder_that_was_opened_before_it_came(account):
    """Another session has told its id; `UID FETCH` alone does not know it yet."""
    for number in range(3):
        await account.add(f"Mail {number}", files=[("plan.txt", "text/plain", b"The plan.")])
        if number == 0:
            (first,) = await account.every(account.query(), projection=ALL)
    location = account.ids.location(first.id)
    later = (location._replace(uid=location.uid + n) for n in (1, 2))
    second, third = map(account.ids.message_id, later)

    email = await account.port.get(second, projection=ALL)
    file = await account.port.attachment(third, first.attachments[0].id.replace(first.id, third))

    assert email.subject == "Mail 1"
    assert file.attachment.name == "plan.txt"


async def test_removed_messages_leave_listings_and_counts(account):
    for number in range(5):
        await account.add(f"Mail {number}", at=number)
    assert len(await account.subjects()) == 5
    await account.session.command("SELECT", "INBOX")
    await account.session.command("STORE 2:3 +FLAGS.SILENT (\\Deleted)")
    await account.session.command("EXPUNGE")

    answer = await account.port.search(MailQuery(limit=2), after=None, projection={"subject"})

    assert [email.subject for email in answer.emails] == ["Mail 4", "Mail 3"]
    assert (answer.total, answer.total_exact) == (3, True)


async def test_a_message_that_is_removed_during_a_search_is_left_out(account, monkeypatch):
    for number in range(3):
        await account.add(f"Mail {number}", at=number)
    read, reads = searching._read, 0

    async def read_without_the_second(*arguments):
        nonlocal reads
        reads += 1
        messages = await read(*arguments)
        if reads > 1:  # it was removed after it was compared
            del messages[[*messages][1]]
        return messages

    monkeypatch.setattr(searching, "_read", read_without_the_second)
    query = MailQuery(has_attachment=False)
    answer = await account.port.search(query, after=None, projection={"subject"})

    assert reads == 2
    assert len(answer.emails) == 2


async def test_a_thread_is_oldest_first_over_all_folders_without_drafts_and_trash(account):
    root = "<one@north.example>"
    answers = [("References", root), ("In-Reply-To", root)]
    await account.add("Plan", at=1, message_id=root)
    await account.add("Re: Plan", at=4, headers=answers)
    await account.add("Re: Plan, thrown away", at=3, headers=answers, folder="trash")
    await account.add("Re: Plan, begun", at=5, headers=answers, folder="drafts")
    await account.add("Re: Plan, earlier", at=2, headers=answers, folder="sent")
    await account.add("Another", at=3)
    emails = await account.every(MailQuery(), projection={"subject", "thread_id"})
    (thread_id,) = {email.thread_id for email in emails if "Plan" in email.subject}

    thread = await account.port.thread(thread_id, projection=ALL)

    assert [email.subject for email in thread.messages] == ["Plan", "Re: Plan, earlier", "Re: Plan"]
    assert {email.thread_id for email in thread.messages} == {thread_id} == {thread.id}
    assert all(email.body for email in thread.messages)


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "8bit"])
async def test_an_attachment_comes_back_byte_by_byte(account, encoding):
    content = (b"\x00\xff" * 400_000) if encoding == "base64" else "Grüße = \r\n".encode() * 40_000
    import quopri
    from base64 import encodebytes

    encoded = {
        "base64": encodebytes(content).replace(b"\n", b"\r\n"),
        "quoted-printable": quopri.encodestring(content),
        "8bit": content,
    }[encoding]
    head = (
        b"Subject: With\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
        b"--b\r\nContent-Type: text/plain\r\n\r\nWords.\r\n--b\r\n"
        b"Content-Type: application/octet-stream; name=a.bin\r\n"
        b"Content-Disposition: attachment\r\n"
        b"Content-Transfer-Encoding: " + encoding.encode() + b"\r\n\r\n"
    )
    await account.session.command(
        "APPEND", "INBOX", head + encoded.rstrip(b"\r\n") + b"\r\n--b--\r\n"
    )
    (email,) = await account.every(MailQuery(), projection={"attachments"})
    (attachment,) = email.attachments

    file = await account.port.attachment(email.id, attachment.id)
    async with file.open() as opened:
        received = b"".join([chunk async for chunk in opened.chunks])

    assert received == content.rstrip(b"\r\n") if encoding != "base64" else received == content


async def test_a_masked_read_brings_nothing_that_is_hidden(account, dovecot):
    await account.add(
        "Subject-canary",
        author="From-canary <from-canary@north.example>",
        to="To-canary <to-canary@east.example>",
        body="Body-canary",
        files=[("a.txt", "text/plain", b"File-canary")],
    )
    dovecot.forget_sessions("ada")
    account.memory.pool.close()

    (email,) = await account.every(MailQuery(), projection={"from_"})
    await account.port.get(email.id, projection=frozenset({"from_"}))
    sent = dovecot.sent_to_clients("ada")

    assert b"From-canary" in sent
    for hidden in (b"Subject-canary", b"To-canary", b"to-canary", b"Body-canary", b"File-canary"):
        assert hidden not in sent


ODD = {
    "no header at all": (b"\r\nWords.\r\n", {"subject": None, "from_": None, "body": "Words.\r\n"}),
    "a header in plain ISO-8859-1": (
        b"Subject: Gr\xfc\xdfe\r\n\r\nWords.\r\n",
        {"subject": "Gr\ufffd\ufffde"},
    ),
    "an encoded word": (b"Subject: =?iso-8859-1?q?Gr=FC=DFe?=\r\n\r\n.\r\n", {"subject": "Grüße"}),
    "a group of recipients": (
        b"Subject: x\r\nTo: team: ann@north.example, bob@south.example;\r\n\r\n.\r\n",
        {"to": (Participant(email="ann@north.example"), Participant(email="bob@south.example"))},
    ),
    "a sender without a domain": (b"Subject: x\r\nFrom: nobody\r\n\r\n.\r\n", {"from_": None}),
    "a date that is none": (b"Subject: x\r\nDate: nonsense\r\n\r\n.\r\n", {"sent_at": NOON}),
    "a name in quotes with a bracket": (
        b'Subject: x\r\nFrom: "A (b) {5}" <a@b.example>\r\n\r\n.\r\n',
        {"from_": Participant(email="a@b.example", name="A (b) {5}")},
    ),
    "a subject that ends like a literal": (b"Subject: x {5}\r\n\r\n.\r\n", {"subject": "x {5}"}),
    "a folded subject": (b"Subject: one\r\n two\r\n\r\n.\r\n", {"subject": "one two"}),
    "an unknown charset": (
        b"Content-Type: text/plain; charset=nothing\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n",
        {"body": "Grüße\r\n"},
    ),
    "base64 that is cut": (
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nV29yZ\r\n",
        {"body": "Wor"},
    ),
    "a boundary that never comes": (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\nWords.\r\n",
        {"has_attachments": False},
    ),
}


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_message_hides_no_other(account, name):
    content, expected = ODD[name]
    await account.add("Before", at=-1)
    await account.add_raw(content, at=0)
    await account.add("Behind", at=1)

    emails = await account.every(MailQuery(), projection=ALL)

    assert [email.subject for email in emails][::2] == ["Behind", "Before"]
    assert {name: getattr(emails[1], name) for name in expected} == expected


async def test_a_page_costs_few_commands(account, dovecot):
    for number in range(60):
        await account.add(f"Mail {number}", at=number)
    account.memory.pool.close()
    dovecot.forget_sessions("ada")

    async def commands(query):
        before = len(dovecot.commands("ada").splitlines())
        await account.port.search(query, after=None, projection=LISTED - {"body_preview"})
        return [line.split(b" ", 2)[2] for line in dovecot.commands("ada").splitlines()[before:]]

    first = await commands(MailQuery(limit=20))
    again = await commands(MailQuery(limit=20))

    names = [line.split(b" ")[0] for line in first]
    assert names == [b"NAMESPACE", b"LIST", b"EXAMINE", b"UID", b"UID"]
    assert first[3] == b"UID FETCH 1:* (UID INTERNALDATE)"
    assert [line.split(b" ")[0] for line in again] == [b"NOOP", b"LIST", b"UID"]
    assert b"BODY.PEEK[]" not in b"".join(first + again)


@pytest.mark.parametrize("missing", ["SPECIAL-USE", "LIST-STATUS", "ESEARCH", "LITERAL+"])
async def test_a_server_with_fewer_extensions_is_read_alike(account, monkeypatch, missing):
    await fill(account)
    whole = [await account.subjects(), await account.subjects(sender="ann@north.example")]
    account.memory.pool.close()
    note = imap_account.Session._note

    def without(session, head):
        note(session, head)
        session.capabilities -= {missing}

    monkeypatch.setattr(imap_account.Session, "_note", without)
    label = await account.subjects(label="Trash")

    assert [await account.subjects(), await account.subjects(sender="ann@north.example")] == whole
    assert label == ["Gone"]


async def test_a_first_page_is_one_search_of_each_folder_and_one_read(account):
    people = frozenset({"from_", "to", "cc"})
    for number in range(60):
        await account.add(
            f"Mail {number}", author="Dora Dean <dora@west.example>", at=number, read=True
        )
    await account.add("Subject: dora", body="dora", at=100, cc="Ann <ann@north.example>")
    query = MailQuery(text="dora", text_fields=people, text_beyond=False, limit=50)

    page = await account.port.first_page(query, projection=people)
    copies = await account.port.first_page(
        MailQuery(text="ann", text_fields=frozenset({"cc"}), text_beyond=False, limit=50),
        projection=frozenset({"cc"}),
    )

    assert (len(page.emails), page.exhausted) == (50, False)
    assert {email.from_.email for email in page.emails} == {"dora@west.example"}
    assert (len(copies.emails), copies.exhausted) == (1, True)
    assert copies.emails[0].from_ is None
