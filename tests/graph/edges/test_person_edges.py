"""Edges of a person to mail: all mail with them, and the last message."""

import pytest

from providers.failures import TimedOut

ANN = "ann@example.com"


async def test_mail_from_or_to_a_person_is_one_search_of_each_mailbox(ask, world):
    _, body = await ask(f'{{ person(email: "{ANN}") {{ emails {{ totalCount }} }} }}')

    assert body["data"] == {"person": {"emails": {"totalCount": 3}}}
    for mailbox in world.mailboxes.values():
        ((kind, query, projection),) = mailbox.calls
        assert (kind, query.participant, query.sender, query.recipient) == (
            "search",
            ANN,
            None,
            None,
        )
        assert projection == set()
    assert world.costs == [{"email": 1}]


@pytest.mark.parametrize("hidden", ["from", "to"])
async def test_who_may_not_see_senders_or_recipients_may_not_search_for_either(ask, world, hidden):
    visible = {"from", "to", "subject"} - {hidden}
    world.settings["visibleEmailFields"] = sorted(visible)

    _, body = await ask(f'{{ person(email: "{ANN}") {{ emails {{ totalCount }} }} }}')

    assert body["data"] == {"person": {"emails": None}}
    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert world.mailboxes[1].calls == []


async def test_hidden_carbon_copies_are_not_searched_for_a_person(ask, world):
    world.settings["visibleEmailFields"] = ["from", "to"]

    await ask(f'{{ person(email: "{ANN}") {{ emails {{ totalCount }} }} }}')

    assert [call[1].recipient_in_cc for call in world.mailboxes[1].calls] == [False]


async def test_the_last_contact_by_mail_is_the_newest_message(ask, world):
    _, body = await ask(
        f'{{ person(email: "{ANN}") {{ lastContact {{ address email {{ id receivedAt }} }} }} }}'
    )

    assert body["data"]["person"]["lastContact"] == {
        "address": ANN,
        "email": {"id": "providerA:a1", "receivedAt": "2026-11-20T11:59:00Z"},
    }
    assert [call[1].limit for call in world.mailboxes[1].calls] == [1]
    assert world.costs == [{"email": 1}]


async def test_no_contact_is_null_without_an_error(ask, world):
    for mailbox in world.mailboxes.values():
        mailbox.emails = []

    _, body = await ask(f'{{ lastContact(email: "{ANN}") {{ email {{ id }} }} }}')

    assert body["data"] == {"lastContact": {"email": None}}
    assert "errors" not in body


async def test_a_last_contact_that_may_not_be_searched_is_refused(ask, world):
    world.settings["allowedEmailOperations"] = ["view_email"]

    _, body = await ask(f'{{ lastContact(email: "{ANN}") {{ address email {{ id }} }} }}')

    assert body["data"] == {"lastContact": {"address": ANN, "email": None}}
    (error,) = body["errors"]
    assert error["path"] == ["lastContact", "email"]
    assert error["extensions"]["code"] == "OPERATION_NOT_ALLOWED"
    assert world.mailboxes[1].calls == []


LAST = "from { person { lastContact { email { id subject body } } } }"


async def test_the_newest_page_tells_the_last_contact_of_who_is_in_it(ask, world):
    _, body = await ask(f"{{ emails(limit: 2) {{ emails {{ id {LAST} }} }} }}")
    _, searched = await ask(
        f'{{ emails(participant: "{ANN}", limit: 1) {{ emails {{ id subject body }} }} }}'
    )

    (last,) = searched["data"]["emails"]["emails"]
    listed = body["data"]["emails"]["emails"]
    assert [email["from"]["person"]["lastContact"]["email"] for email in listed] == [last, last]
    page, _ = world.mailboxes[1].calls  # the second one is the search
    assert (page[0], page[2]) == ("search", {"id", "from_", "to", "cc", "subject"})


@pytest.mark.parametrize("argument", ['subject: "a1"', "unread: true", 'label: "x"'])
async def test_a_filtered_page_does_not_tell_the_last_contact(ask, world, argument):
    _, body = await ask(f"{{ emails(limit: 1, {argument}) {{ emails {{ {LAST} }} }} }}")

    assert "errors" not in body
    assert [call[1].participant for call in world.mailboxes[1].calls] == [None, ANN]


async def test_a_later_page_does_not_tell_the_last_contact(ask, world):
    _, first = await ask("{ emails(limit: 1) { nextPageToken } }")
    token = first["data"]["emails"]["nextPageToken"]
    world.mailboxes[1].calls.clear()

    await ask(f'{{ emails(limit: 1, pageToken: "{token}") {{ emails {{ {LAST} }} }} }}')

    assert [call[1].participant for call in world.mailboxes[1].calls] == [None, ANN]


async def test_with_hidden_copies_the_last_contact_is_searched_for(ask, world):
    world.settings["visibleEmailFields"] = ["from", "to", "subject"]

    await ask(f"{{ emails(limit: 1) {{ emails {{ {LAST} }} }} }}")

    calls = world.mailboxes[1].calls
    assert [call[1].participant for call in calls] == [None, ANN]
    assert "cc" not in calls[0][2]


async def test_a_listing_that_leaves_a_mailbox_out_does_not_tell_the_last_contact(ask, world):
    world.mailboxes[2].failure = TimedOut()

    await ask(f"{{ emails(limit: 1) {{ emails {{ {LAST} }} }} }}")

    assert [call[1].participant for call in world.mailboxes[1].calls] == [None, ANN]


async def test_hidden_recipients_are_not_read_for_the_last_contact(ask, world):
    world.settings["visibleEmailFields"] = ["from", "subject"]

    _, body = await ask(f"{{ emails(limit: 1) {{ emails {{ {LAST} }} }} }}")

    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert [(call[0], call[2]) for call in world.mailboxes[1].calls] == [("search", {"from_"})]


async def test_conversations_with_a_person_are_those_of_a_page_each_once(ask, world, email):
    world.mailboxes[1].emails = [email(f"a{n}", n, thread_id=f"talk{n // 2}") for n in range(4)]

    _, body = await ask(
        f'{{ person(email: "{ANN}") {{ threads(limit: 10) {{ hasMore nextPageToken'
        " threads { id thread { messageCount } } } } }"
    )

    threads = body["data"]["person"]["threads"]
    counted = [(entry["id"], entry["thread"]["messageCount"]) for entry in threads["threads"]]
    assert counted == [("providerA:talk0", 2), ("providerA:talk1", 2), ("providerB:talk-b1", 1)]
    assert (threads["hasMore"], threads["nextPageToken"]) == (False, None)
    search, read = world.mailboxes[1].calls
    assert (search[0], search[1].participant, search[2]) == ("search", ANN, {"thread_id"})
    assert (read[0], sorted(read[1])) == ("threads", ["talk0", "talk1"])
    assert world.costs == [{"email": 2}]


async def test_conversations_have_the_pages_of_their_messages(ask, world):
    document = (
        '{{ emailThreads(participant: "{}", limit: 2{}) {{ threads {{ id }} nextPageToken }} }}'
    )
    _, first = await ask(document.format(ANN, ""))
    page = first["data"]["emailThreads"]
    token = page["nextPageToken"]
    _, second = await ask(document.format(ANN, f', pageToken: "{token}"'))

    assert len(page["threads"]) == 2
    rest = second["data"]["emailThreads"]
    assert len(rest["threads"]) == 1
    assert rest["nextPageToken"] is None


@pytest.mark.parametrize("hidden", ["from", "to"])
async def test_conversations_need_what_their_messages_need(ask, world, hidden):
    visible = {"from", "to", "subject"} - {hidden}
    world.settings["visibleEmailFields"] = sorted(visible)

    _, body = await ask(f'{{ person(email: "{ANN}") {{ threads {{ hasMore }} }} }}')

    assert body["data"] == {"person": {"threads": None}}
    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert world.mailboxes[1].calls == []


async def test_conversations_are_found_by_searchers_and_read_by_who_may_read_them(ask, world):
    world.settings["allowedEmailOperations"] = ["search_emails"]

    selected = "threads(limit: 1) { threads { id thread { id } } }"
    _, body = await ask(f'{{ person(email: "{ANN}") {{ {selected} }} }}')

    threads = body["data"]["person"]["threads"]["threads"]
    assert threads == [{"id": "providerA:talk-a1", "thread": None}]
    assert [error["extensions"]["code"] for error in body["errors"]] == ["OPERATION_NOT_ALLOWED"]
    assert [call[0] for call in world.mailboxes[1].calls] == ["search"]


async def test_several_addresses_are_one_search(ask, world):
    people = f"{ANN}, bo@example.com"
    await ask(f'{{ emails(participant: "{people}") {{ hasMore }} }}')

    assert [call[1].participant for call in world.mailboxes[1].calls] == [people]


async def test_more_than_ten_addresses_are_refused(ask, world):
    people = ",".join(f"p{number}@example.com" for number in range(11))
    _, body = await ask(f'{{ emails(participant: "{people}") {{ hasMore }} }}')

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert world.mailboxes[1].calls == []
