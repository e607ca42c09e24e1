"""Edges of the mail surface: what they return, and what they read."""

import pytest

THREADS = "{ emails { emails { id thread { messageCount subject } } } }"


async def test_an_edge_returns_what_its_root_field_returns(ask, world):
    members = "id subject messageCount participants { email } lastMessageAt messages { id body }"

    _, by_edge = await ask(f'{{ email(emailId: "providerB:b1") {{ thread {{ {members} }} }} }}')
    _, by_root = await ask(f'{{ emailThread(threadId: "providerB:talk-b1") {{ {members} }} }}')

    assert by_edge["data"]["email"]["thread"] == by_root["data"]["emailThread"]
    assert by_root["data"]["emailThread"]["messages"] == [
        {"id": "providerB:b1", "body": "<p>Body b1</p>"}
    ]
    assert world.costs == [{"email": 2}, {"email": 1}]


async def test_the_threads_of_a_page_are_read_by_one_call_of_each_mailbox(ask, world, email):
    for number, mailbox in world.mailboxes.items():
        provider = mailbox.emails[0].provider
        mailbox.emails = [email(f"m{number}{n}", n, provider=provider) for n in range(10)]

    _, body = await ask("{ emails(limit: 20) { emails { thread { messageCount } } } }")

    assert body["data"]["emails"]["emails"] == [{"thread": {"messageCount": 1}}] * 20
    for number, mailbox in world.mailboxes.items():
        threads = tuple(f"talk-m{number}{n}" for n in range(10))
        search, read = mailbox.calls
        assert (search[0], search[2]) == ("search", {"thread_id"})
        assert (read[0], sorted(read[1]), read[2]) == ("threads", sorted(threads), set())


async def test_an_edge_reads_only_what_is_selected_below_it(ask, world):
    await ask(THREADS)

    assert [(call[0], call[2]) for call in world.mailboxes[2].calls] == [
        ("search", {"id", "thread_id"}),
        ("threads", {"subject"}),
    ]


async def test_different_selections_of_one_object_are_one_read(ask, world):
    _, body = await ask("""{
        a: email(emailId: "providerA:a1") { thread { subject } again: thread { messages { id } } }
        b: email(emailId: "providerA:a1") { isRead thread { messageCount } }
    }""")

    assert body["data"] == {
        "a": {"thread": {"subject": "Subject a1"}, "again": {"messages": [{"id": "providerA:a1"}]}},
        "b": {"isRead": False, "thread": {"messageCount": 1}},
    }
    assert world.mailboxes[1].calls == [
        ("get_many", ("a1",), {"thread_id", "is_read"}),
        ("threads", ("talk-a1",), {"subject", "id"}),
    ]


async def test_a_body_left_out_stays_out_when_another_alias_reads_it(ask, world):
    _, body = await ask("""{
        a: email(emailId: "providerA:a1", includeBody: false) { body bodyType }
        b: email(emailId: "providerA:a1") { body }
    }""")

    assert body["data"] == {"a": {"body": None, "bodyType": None}, "b": {"body": "<p>Body a1</p>"}}
    assert len(world.mailboxes[1].calls) == 1


async def test_without_its_operation_an_edge_is_null_and_reads_nothing(ask, world):
    world.settings["allowedEmailOperations"] = ["search_emails"]

    status, body = await ask("{ emails(limit: 1) { emails { id thread { id } } } }")

    assert status == 200
    assert body["data"] == {"emails": {"emails": [{"id": "providerA:a1", "thread": None}]}}
    (error,) = body["errors"]
    assert error["path"] == ["emails", "emails", 0, "thread"]
    assert error["extensions"]["code"] == "OPERATION_NOT_ALLOWED"
    assert error["extensions"]["requiredOperation"] == "view_thread"
    assert [call[0] for call in world.mailboxes[1].calls] == ["search"]


async def test_an_edge_to_nothing_is_refused_like_its_root_field(ask, world, email):
    world.mailboxes[1].emails = [email("a1", 1, thread_id="gone")]
    world.mailboxes[1].threads = _no_threads

    _, by_edge = await ask('{ email(emailId: "providerA:a1") { thread { id } } }')
    _, by_root = await ask('{ emailThread(threadId: "providerA:none") { id } }')

    assert by_edge["data"] == {"email": {"thread": None}}
    (edge_error,), (root_error,) = by_edge["errors"], by_root["errors"]
    assert edge_error["message"] == root_error["message"] == "No thread with this id."
    assert edge_error["extensions"] == root_error["extensions"]


async def _no_threads(_thread_ids, *, projection):
    return {}


async def test_an_edge_from_a_message_without_a_thread_is_null(ask, world, email):
    world.mailboxes[1].emails = [email("a1", 1, thread_id=None)]

    _, body = await ask('{ email(emailId: "providerA:a1") { thread { id } } }')

    assert body == {
        "data": {"email": {"thread": None}},
        "extensions": {"access": {"hiddenFields": {}}},
    }


async def test_edges_may_be_followed_from_edges(ask):
    _, body = await ask(
        '{ email(emailId: "providerA:a1") { thread { messages { thread { messages { id } } } } } }'
    )

    below = {"thread": {"messages": [{"id": "providerA:a1"}]}}
    assert body["data"]["email"] == {"thread": {"messages": [below]}}


@pytest.mark.parametrize("word", ["subject", "from", "body"])
async def test_a_hidden_field_is_not_requested_through_an_edge(ask, world, word):
    world.settings["visibleEmailFields"] = [
        field for field in ("subject", "from", "to", "cc", "body") if field != word
    ]

    _, body = await ask("""{ emails { emails { thread {
        subject participants { email } messages { subject from { email } body }
    } } } }""")

    attribute = {"from": "from_"}.get(word, word)
    requested = [call[2] for call in world.mailboxes[1].calls]
    assert all(attribute not in projection for projection in requested)
    messages = [
        message
        for email in body["data"]["emails"]["emails"]
        for message in email["thread"]["messages"]
    ]
    assert [message[word] for message in messages] == [None, None, None]
