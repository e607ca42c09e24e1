"""Who is meant by a name: contacts and directory of provider B, each by its flag and its scope."""

import pytest
from world import ME_B, WRITES

from sandbox.provider_b.people import store_people

PEOPLE = "/api/access/people"
CONTACTS = ["search_contacts"]
DIRECTORY = ["search_directory"]
SCOPES = ["People.Read", "User.ReadBasic.All"]
KNOWN = {
    "contacts": [("Dave Miller", "dave@north.example"), ("Ann Dave", "ann@else.example")],
    "users": [("Dave Miller", "DAVE@north.example"), ("Dave Stone", "stone@work.example")],
}


@pytest.fixture
async def consented(world):
    """Give the account of provider B further scopes, and people to be found."""
    store_people(world.sandbox.state.database, **KNOWN)

    async def consent(*scopes, granted=None):
        have = [*WRITES["PROVIDER_B"], *scopes]
        token = world.sandbox.state.tokens.issue("providerB", ME_B, have)
        body = {
            "grantedScopes": have if granted is None else granted,
            "credentials": {"accessToken": token},
        }
        path = f"/api/connections/{world.connections['PROVIDER_B']}"
        response = await world.admin.patch(path, json=body)
        assert response.status_code == 200, response.text
        world.forget_calls()

    await consent(*SCOPES)
    return consent


async def find(world, name="dave", *, status=200, **settings):
    """Return the body of a call by a new token with *settings*."""
    token = await world.token(settings)
    world.forget_calls()
    async with world.client(token) as client:
        response = await client.get(PEOPLE, params={"name": name})
    assert response.status_code == status, response.text
    return response.json()


def paths(world):
    return [call["path"].rpartition("/v1.0")[2] for call in world.calls()]


def addresses(body):
    return [(person["email"], person["sources"]) for person in body["people"]]


async def test_contacts_are_one_call_of_each_account(world, consented):
    body = await find(world, "dave mil", allowedEmailOperations=CONTACTS)

    assert body["people"] == [
        {
            "email": "dave@north.example",
            "name": "Dave Miller",
            "lastContact": None,
            "connectionId": world.connections["PROVIDER_B"],
            "account": ME_B,
            "sources": ["contacts"],
        }
    ]
    assert (body["outcome"], body["searched"], body["totalCount"]) == ("one", ["contacts"], 1)
    assert paths(world) == ["/me/people"]


async def test_the_directory_is_one_call_of_each_account(world, consented):
    body = await find(world, "stone dave", allowedEmailOperations=DIRECTORY)

    assert addresses(body) == [("stone@work.example", ["directory"])]
    assert (body["outcome"], body["searched"]) == ("one", ["directory"])
    assert paths(world) == ["/users"]


async def test_a_person_of_several_sources_is_one(world, consented):
    flags = ["search_emails", *CONTACTS, *DIRECTORY]

    body = await find(world, "miller", allowedEmailOperations=flags)

    assert addresses(body) == [("dave@north.example", ["contacts", "directory"])]
    assert body["outcome"] == "one"
    assert body["searched"] == ["correspondence", "contacts", "directory"]


async def test_namesakes_of_several_sources_are_several(world, consented):
    body = await find(world, allowedEmailOperations=[*CONTACTS, *DIRECTORY])

    assert body["outcome"] == "several"
    assert [email for email, _ in addresses(body)] == [
        "ann@else.example",
        "dave@north.example",
        "stone@work.example",
    ]


async def test_without_the_flag_no_source_beyond_mail_is_asked(world, consented):
    body = await find(world, "stone", allowedEmailOperations=["read_only"])

    assert (body["outcome"], body["searched"]) == ("none", ["correspondence"])
    assert not {"/me/people", "/users"} & set(paths(world))


@pytest.mark.parametrize(("scope", "asked"), [(SCOPES[0], "contacts"), (SCOPES[1], "directory")])
async def test_a_source_without_the_scope_of_its_own_is_not_asked(world, consented, scope, asked):
    await consented(scope)

    body = await find(world, allowedEmailOperations=[*CONTACTS, *DIRECTORY])

    assert body["searched"] == [asked]
    assert len(paths(world)) == 1


async def test_where_nothing_could_be_searched_nothing_is_certain(world, consented):
    await consented()

    body = await find(world, allowedEmailOperations=CONTACTS)

    assert (body["outcome"], body["people"], body["searched"]) == ("incomplete", [], [])
    assert paths(world) == []


async def test_a_source_that_fails_is_named_and_makes_one_incomplete(world, consented):
    have = [*WRITES["PROVIDER_B"], *SCOPES]
    await consented(SCOPES[0], granted=have)  # the consent was taken back

    body = await find(world, "miller", allowedEmailOperations=[*CONTACTS, *DIRECTORY])

    assert addresses(body) == [("dave@north.example", ["contacts"])]
    assert body["outcome"] == "incomplete"
    (warning,) = body["authWarnings"]
    assert warning.startswith(f"Provider B ({ME_B}), directory: ")


async def test_masks_of_mail_leave_the_other_sources(world, consented):
    body = await find(
        world,
        "miller",
        allowedEmailOperations=["search_emails", *CONTACTS],
        visibleEmailFields=["subject"],
    )

    assert (body["outcome"], body["searched"]) == ("one", ["contacts"])
    assert paths(world) == ["/me/people"]


async def test_whom_a_token_may_not_write_to_changes_neither_answers_nor_calls(world, consented):
    rules = {"allow": ["*"], "block": ["@else.example"]}
    settings = {"allowedEmailOperations": [*CONTACTS, *DIRECTORY], "recipientRules": rules}

    async def answer():
        body = await find(world, "dave", **settings)
        return body, paths(world)

    before = await answer()
    more = ("Dave Hidden", "hidden@else.example")
    store_people(
        world.sandbox.state.database,
        contacts=[more, *KNOWN["contacts"]],
        users=[more, *KNOWN["users"]],
    )

    assert await answer() == before
    assert "ann@else.example" not in str(before)


async def test_more_than_a_page_is_incomplete(world, consented):
    users = [("Dave", "dave@work.example"), *[("Dave", f"d{n}@else.example") for n in range(120)]]
    store_people(world.sandbox.state.database, contacts=[], users=users)

    body = await find(
        world, allowedEmailOperations=DIRECTORY, recipientRules={"allow": ["@work.example"]}
    )

    assert (body["outcome"], addresses(body)) == (
        "incomplete",
        [("dave@work.example", ["directory"])],
    )
    assert paths(world) == ["/users"]


@pytest.mark.parametrize("name", ['") OR ("mail:s', "mail:stone", "x AND (y", "dave' OR 1 eq 1"])
async def test_operators_of_the_directory_are_words(world, consented, name):
    body = await find(world, name, allowedEmailOperations=[*CONTACTS, *DIRECTORY])

    assert (body["outcome"], body["people"]) == ("none", [])
    assert "authWarnings" not in body


async def test_no_flag_finds_nobody(world, consented):
    body = await find(world, status=403, allowedEmailOperations=["send_email"])

    assert body["error"] == "OPERATION_NOT_ALLOWED"
    assert paths(world) == []
