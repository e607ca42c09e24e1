"""People: the root field `person`, `.person` of addresses, and the pages that lead on from them."""

import pytest


async def test_a_person_leads_to_mail_from_and_to_the_address(ask, world):
    _, body = await ask("""{ person(email: "ann@example.com") {
        email sent(limit: 2) { emails { id } hasMore } received { totalCount }
    } }""")

    assert body["data"]["person"] == {
        "email": "ann@example.com",
        "sent": {"emails": [{"id": "providerA:a1"}, {"id": "providerB:b1"}], "hasMore": True},
        "received": {"totalCount": 3},
    }
    queries = [call[1] for call in world.mailboxes[1].calls]
    assert [(query.sender, query.recipient) for query in queries] == [
        ("ann@example.com", None),
        (None, "ann@example.com"),
    ]
    assert world.costs == [{"email": 2}]


async def test_a_person_alone_reads_nothing_and_costs_no_surface(ask, world):
    _, body = await ask('{ person(email: " ann@example.com ") { email } }')

    assert body == {"data": {"person": {"email": "ann@example.com"}}}
    assert world.costs == [{"graphql": 1}]
    assert world.mailboxes[1].calls == []


@pytest.mark.parametrize("address", ["", "ann", "@example.com", "ann@", f"{'a' * 250}@x.example"])
async def test_a_person_needs_a_whole_address(ask, world, address):
    _, body = await ask(f'{{ person(email: "{address}") {{ sent {{ totalCount }} }} }}')

    assert body["data"] == {"person": None}
    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert world.mailboxes[1].calls == []


async def test_the_mail_of_one_sender_is_searched_once_for_a_whole_page(ask, world):
    _, body = await ask("""{ emails { emails { from { person {
        sent(limit: 1) { emails { receivedAt } }
    } } } } }""")

    sent = {"person": {"sent": {"emails": [{"receivedAt": "2026-11-20T11:59:00Z"}]}}}
    assert body["data"]["emails"]["emails"] == [{"from": sent}] * 3
    assert [call[0] for call in world.mailboxes[1].calls] == ["search", "search"]
    assert [call[0] for call in world.mailboxes[2].calls] == ["search", "search"]


async def test_pages_with_other_arguments_are_searched_apart(ask, world):
    await ask("""{ emails(limit: 1) { emails { from { person {
        sent(limit: 1) { hasMore } other: sent(limit: 2) { hasMore }
    } } } } }""")

    assert [call[1].limit for call in world.mailboxes[1].calls] == [1, 1, 2]


async def test_a_hidden_sender_leads_to_nobody_and_is_not_searched_for(ask, world):
    world.settings["visibleEmailFields"] = ["subject", "to"]

    _, body = await ask("""{
        emails(limit: 1) { emails { from { person { email } } } }
        person(email: "ann@example.com") { sent { totalCount } received { totalCount } }
    }""")

    assert body["data"]["emails"]["emails"] == [{"from": None}]
    assert body["data"]["person"] == {"sent": None, "received": {"totalCount": 3}}
    (error,) = body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["person", "sent"], "FIELD_NOT_VISIBLE")


async def test_what_the_token_may_not_search_is_refused_at_the_edge(ask, world):
    world.settings["allowedEmailOperations"] = ["view_email"]

    _, body = await ask('{ person(email: "ann@example.com") { email sent { totalCount } } }')

    assert body["data"] == {"person": {"email": "ann@example.com", "sent": None}}
    assert body["errors"][0]["extensions"]["code"] == "OPERATION_NOT_ALLOWED"
    assert world.mailboxes[1].calls == []
