"""Who is meant by a name: people of the correspondence, by REST and by GraphQL."""

import random
from collections import Counter
from email.message import EmailMessage
from itertools import count

import pytest
from world import MAILBOXES, ME_A

PEOPLE = "/api/access/people"
NUMBERS = count(1)
NOON_MS = 1_700_000_000_000


def receive(world, mailbox, *, at=None, folder="inbox", **headers):
    """Store a message; *at* is seconds after the first ones."""
    number = next(NUMBERS)
    message = EmailMessage()
    message["Message-ID"] = f"<{number}@people.example>"
    message["Subject"] = "Hello"
    for name, value in {"From": "x@quiet.example", "To": ME_A, **headers}.items():
        message[name] = value
    message.set_content("Words.")
    return world.sandbox.state.mails.add(
        mailbox,
        message.as_bytes(),
        folder=folder,
        labels=(),
        received_ms=NOON_MS + (number if at is None else at) * 1000,
    )


async def find(client, name, **params):
    response = await client.get(PEOPLE, params={"name": name, **params})
    assert response.status_code == 200, response.text
    return response.json()


def emails(body):
    return [person["email"] for person in body["people"]]


async def test_one_person_has_the_name(client, world):
    body = await find(client, "MÜLLER ana")

    assert body == {
        "outcome": "one",
        "people": [
            {
                "email": "ana@home.example",
                "name": "Ana Müller",
                "lastContact": "2026-11-19T09:00:00Z",
                "connectionId": world.connections["PROVIDER_A"],
                "account": ME_A,
                "sources": ["correspondence"],
            }
        ],
        "searched": ["correspondence"],
        "totalCount": 1,
    }


async def test_nobody_has_the_name(client):
    assert await find(client, "zoe") == {
        "outcome": "none",
        "people": [],
        "searched": ["correspondence"],
        "totalCount": 0,
    }


async def test_graphql_returns_the_same_and_leads_on(client, world):
    document = (
        '{ people(name: "ana") { outcome totalCount people { email '
        "person { lastContact { email { id } } } } } }"
    )

    response = await client.post("/graphql", json={"query": document})

    person = {"lastContact": {"email": {"id": world.id("lease")}}}
    assert response.json()["data"] == {
        "people": {
            "outcome": "one",
            "totalCount": 1,
            "people": [{"email": "ana@home.example", "person": person}],
        }
    }


async def test_namesakes_are_several_and_the_latest_contact_comes_first(client, world):
    receive(world, "provider-a", From="Dave Miller <dave@north.example>", at=1)
    receive(world, "provider-b", From="Dave Miller <dave@south.example>", at=3)
    receive(world, "provider-a", Cc="DAVE@north.example", at=5)

    body = await find(client, "dave")
    first = await find(client, "dave", limit=1)

    assert body["outcome"] == first["outcome"] == "several"
    assert body["totalCount"] == first["totalCount"] == 2
    assert emails(body) == ["DAVE@north.example", "dave@south.example"]
    assert [person["name"] for person in body["people"]] == ["Dave Miller", "Dave Miller"]
    assert [person["lastContact"] for person in body["people"]] == [
        "2023-11-14T22:13:25Z",
        "2023-11-14T22:13:23Z",
    ]
    assert first["people"] == body["people"][:1]


async def test_the_words_of_a_name_belong_to_one_person(client, world):
    receive(world, "provider-b", From="Dave <d@north.example>", To="Ann Miller <ann@x.example>")

    assert (await find(client, "dave miller"))["outcome"] == "none"


async def test_the_own_accounts_junk_and_trash_are_left_out(client, world):
    receive(world, "provider-a", From="Eve <eve@north.example>", folder="spam")
    receive(world, "provider-b", From="Eve <eve@south.example>", folder="trash")

    assert (await find(client, "eve"))["people"] == []
    assert (await find(client, "provider"))["people"] == []


@pytest.mark.parametrize("name", [" ", '""', "!", "💥"])
async def test_a_name_without_words_is_refused_before_any_call(client, world, name):
    world.forget_calls()

    response = await client.get(PEOPLE, params={"name": name})

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert world.calls() == []


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "MISSING_PARAMETER"),
        ({"name": ""}, "MISSING_PARAMETER"),
        ({"name": "x" * 101}, "INVALID_PARAMETER"),
        ({"name": "\ufdfa" * 6}, "INVALID_PARAMETER"),
        ({"name": "dave", "limit": "0"}, "INVALID_PARAMETER"),
        ({"name": "dave", "limit": "two"}, "INVALID_PARAMETER"),
    ],
    ids=["no name", "an empty name", "a long name", "a name that grows", "no people", "no number"],
)
async def test_wrong_parameters_are_refused_before_any_call(client, world, params, code):
    world.forget_calls()

    response = await client.get(PEOPLE, params=params)

    assert (response.status_code, response.json()["error"]) == (400, code)
    assert world.calls() == []


@pytest.mark.parametrize(
    "name", ["{from:dave", "dave OR from:ana", "in:spam dave", "a AND b*", "* NOT ana", "ana) ("]
)
async def test_operators_of_a_providers_search_are_words(client, world, name):
    receive(world, "provider-a", From="Dave <dave@north.example>", folder="spam")

    assert (await find(client, name))["people"] in ([], (await find(client, "ana"))["people"])


@pytest.mark.caller(visibleEmailFields=["subject", "body", "received_at"])
@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_without_a_visible_header_nobody_is_looked_for(world, mode):
    hidden = {"visibleEmailFields": ["subject", "body"], "maskMode": mode}
    token = await world.token(hidden)
    world.forget_calls()

    async with world.client(token) as client:
        response = await client.get(PEOPLE, params={"name": "ana"})

    assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.calls() == []


@pytest.mark.caller(allowedEmailOperations=["view_email", "send_email"])
async def test_a_token_that_may_not_search_mail_finds_nobody(client, world):
    world.forget_calls()

    response = await client.get(PEOPLE, params={"name": "ana"})

    assert (response.status_code, response.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert world.calls() == []


@pytest.mark.caller(visibleEmailFields=["from", "subject"])
async def test_a_hidden_time_is_null(client):
    body = await find(client, "ana")

    assert (body["outcome"], body["people"][0]["lastContact"]) == ("one", None)


@pytest.mark.caller(recipientRules={"allow": ["@north.example"]})
async def test_whom_a_token_may_not_write_to_does_not_come_back(client, world):
    receive(world, "provider-a", From="Dave <dave@north.example>")
    receive(world, "provider-b", From="Dave <dave@south.example>")

    body = await find(client, "dave")

    assert (body["outcome"], emails(body)) == ("one", ["dave@north.example"])


@pytest.mark.caller(sendMode="direct", recipientRules={})
async def test_a_token_that_may_write_to_nobody_finds_nobody(client):
    assert (await find(client, "ana"))["outcome"] == "none"


async def test_each_mailbox_is_searched_once(client, world):
    await find(client, "ana")  # knows the folders of provider B from now on
    for number in range(60):
        sender = f"Dave <dave{number}@north.example>"
        receive(world, "provider-a", From=sender)
        receive(world, "provider-b", From=sender)
    world.forget_calls()

    body = await find(client, "dave", limit=50)

    calls = [(call["path"], call["batch"]) for call in world.calls()]
    listing, *others = [path for path, batch in calls if batch is None]
    assert listing.endswith("/gmail/v1/users/me/messages")
    assert sorted(path.rpartition("/")[2] for path in others) == ["messages", "v1"]
    assert len({batch for _, batch in calls if batch is not None}) == 1
    assert (body["outcome"], body["totalCount"], len(body["people"])) == ("several", 60, 50)


async def test_one_of_more_than_a_page_is_incomplete(client, world):
    for _ in range(30):
        receive(world, "provider-a", From="Dave <dave@north.example>")

    body = await find(client, "dave")

    assert (body["outcome"], emails(body)) == ("incomplete", ["dave@north.example"])


async def test_a_mailbox_that_fails_makes_one_incomplete(client, world):
    await world.fail("provider-b", kind="503", count=50)

    body = await find(client, "ana")
    nobody = await find(client, "zoe")

    assert (body["outcome"], emails(body)) == ("incomplete", ["ana@home.example"])
    assert (nobody["outcome"], len(nobody["authWarnings"])) == ("incomplete", 1)


async def test_all_mailboxes_failing_fails_the_call(client, world):
    await world.fail("provider-a", kind="503", count=50)
    await world.fail("provider-b", kind="503", count=50)

    response = await client.get(PEOPLE, params={"name": "ana"})

    assert (response.status_code, response.json()["error"]) == (502, "PROVIDER_ERROR")


# -- what is hidden

HIDDEN = {
    "a sender": ({"visibleEmailFields": ["to", "cc"]}, {"From": "Dave <dave@else.example>"}),
    "a recipient": ({"visibleEmailFields": ["from", "cc"]}, {"To": "Dave <dave@else.example>"}),
    "a copy": ({"visibleEmailFields": ["from", "to"]}, {"Cc": "Dave <dave@else.example>"}),
    "a blind copy": ({}, {"Bcc": "Dave <dave@else.example>"}),
}


@pytest.mark.parametrize(("settings", "headers"), HIDDEN.values(), ids=HIDDEN)
async def test_hidden_people_change_neither_answers_nor_calls(world, settings, headers):
    token = await world.token(settings)
    for mailbox in MAILBOXES.values():
        for header in ("From", "To", "Cc"):
            receive(world, mailbox, **{header: f"Dave {header} <dave.{header}@north.example>"})

    async def answers():
        world.forget_calls()
        async with world.client(token) as client:
            same = {"x-request-id": "same"}
            bodies = [
                (await client.get(PEOPLE, params={"name": name}, headers=same)).content
                for name in ("dave", "else", "ana", "north dave")
            ]
        # How many messages were read is upstream's to know: a batch is one call.
        calls = [call["path"] for call in world.calls() if call["batch"] is None]
        return bodies, sorted(calls)

    await answers()  # knows the folders of provider B from now on
    before = await answers()
    for mailbox in MAILBOXES.values():
        receive(world, mailbox, **headers)

    assert await answers() == before


@pytest.mark.caller(recipientRules={"allow": ["*"], "block": ["@else.example"]})
async def test_whom_the_rules_exclude_does_not_change_the_answer(client, world):
    receive(world, "provider-a", From="Dave <dave@north.example>")
    before = [await find(client, name) for name in ("dave", "else")]

    receive(world, "provider-b", From="Dave <dave@else.example>", Cc="Dave <d@else.example>")

    assert [await find(client, name) for name in ("dave", "else")] == before


# -- namesakes


@pytest.mark.tries(40, 500)
async def test_no_namesake_is_ever_guessed(world, tries):
    """Of random people, some of them hidden, `one` is said where exactly one has the name."""
    world.sandbox.upstreams["providerA"].quota.allowance = None  # it has tests of its own
    rng = random.Random(tries)
    token = await world.token({"visibleEmailFields": ["from", "cc"]})
    names = [f"name{index:04}" for index in range(tries // 4)]
    people: dict[str, set[str]] = {name: set() for name in names}
    for index in range(tries):
        name, address = rng.choice(names), f"p{index}@north.example"
        header = rng.choice(["From", "Cc", "To"])
        receive(world, rng.choice(list(MAILBOXES.values())), **{header: f"{name} <{address}>"})
        if header != "To":
            people[name].add(address)
    outcomes = Counter()

    for number, name in enumerate(names):
        async with world.called_from(f"10.9.{number // 200}.{number % 200}").client(
            token
        ) as client:
            world.forget_calls()
            body = await find(client, name, limit=50)
        assert body.get("authWarnings") is None
        assert set(emails(body)) == people[name]
        assert body["outcome"] == ("none", "one", "several")[min(len(people[name]), 2)]
        searches = [call["path"] for call in world.calls() if call["path"].endswith("/messages")]
        assert len(searches) == len(MAILBOXES)
        outcomes[body["outcome"]] += 1

    assert set(outcomes) == {"one", "several", "none"} or tries < 200


@pytest.mark.slow
@pytest.mark.tries(40, 40)
@pytest.mark.parametrize(("settings", "headers"), HIDDEN.values(), ids=HIDDEN)
async def test_many_hidden_people_change_neither_answers_nor_calls(world, settings, headers, tries):
    """`TIMES=125`: 5,000 of each kind, namesakes of those that are seen and of each other."""
    world.sandbox.upstreams["providerA"].quota.allowance = None
    rng = random.Random(tries)
    token = await world.token(settings)
    (hidden,) = headers
    names = [f"name{index:04}" for index in range(20)]
    for index, name in enumerate(names[:15]):
        header = rng.choice(["From", "Cc", "To"])
        person = f"{name} <p{index}@north.example>"
        receive(world, rng.choice(list(MAILBOXES.values())), **{header: person})

    async def answers(turn):
        bodies, calls = [], []
        for number, name in enumerate(["ana", "else", *names]):
            caller = world.called_from(f"10.9.{turn}.{number}")
            world.forget_calls()
            async with caller.client(token) as client:
                asked = {"params": {"name": name}, "headers": {"x-request-id": "same"}}
                response = await client.get(PEOPLE, **asked)
            assert response.status_code == 200, response.text
            bodies.append(response.content)
            calls.append(sorted(call["path"] for call in world.calls() if call["batch"] is None))
        return bodies, calls

    await answers(0)  # knows the folders of provider B from now on
    before = await answers(1)
    assert sum(b'"outcome":"one"' in body for body in before[0]) > 5
    assert all(before[1])
    for index in range(tries):
        person = f"{rng.choice(names)} <h{index}@else.example>"
        receive(world, rng.choice(list(MAILBOXES.values())), at=-index, **{hidden: person})

    assert await answers(2) == before
