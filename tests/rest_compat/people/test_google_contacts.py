"""Who is meant by a name: contacts, other contacts and directory of provider A."""

import pytest
from world import ME_A, WRITES

from providers.connectors.provider_a import people as connector
from providers.http.urls import BaseUrl
from sandbox.provider_a.people import store_people

PEOPLE = "/api/access/people"
CONTACTS, DIRECTORY = ["search_contacts"], ["search_directory"]
SCOPES = {
    name: f"https://www.googleapis.com/auth/{scope}.readonly"
    for name, scope in (
        ("contacts", "contacts"),
        ("other_contacts", "contacts.other"),
        ("directory", "directory"),
    )
}
PATHS = {
    "contacts": "/v1/people:searchContacts",
    "other_contacts": "/v1/otherContacts:search",
    "directory": "/v1/people:searchDirectoryPeople",
}
KNOWN = {
    "contacts": [("Dave Miller", "dave@north.example"), ("Ann Dave", "ann@else.example")],
    "other_contacts": [("Dave Miller", "DAVE@north.example"), ("Dave", "not an address")],
    "directory": [("Dave Stone", "stone@work.example")],
}


class Clock:
    """Seconds of the connector and of the sandbox, which tests move on."""

    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(world, monkeypatch):
    """Stop the clocks of both search caches."""
    clock = Clock()
    monkeypatch.setattr(connector, "monotonic", clock)
    object.__setattr__(world.sandbox.state, "clock", clock)
    return clock


@pytest.fixture
async def consented(world):
    """Give the account of provider A further scopes, and people to be found."""
    store_people(world.sandbox.state.database, **KNOWN)

    async def consent(*sources, granted=None):
        scopes = [*WRITES["PROVIDER_A"], *(SCOPES[source] for source in sources)]
        token = world.sandbox.state.tokens.issue("providerA", ME_A, scopes)
        body = {
            "grantedScopes": scopes if granted is None else granted,
            "credentials": {"accessToken": token},
        }
        path = f"/api/connections/{world.connections['PROVIDER_A']}"
        response = await world.admin.patch(path, json=body)
        assert response.status_code == 200, response.text

    await consent(*SCOPES)
    return consent


async def find(world, name="dave", **settings):
    """Return the body of a call by a new token with *settings*."""
    token = await world.token(settings)
    world.forget_calls()
    async with world.client(token) as client:
        response = await client.get(PEOPLE, params={"name": name})
    assert response.status_code == 200, response.text
    return response.json()


async def find_updated(world, clock, name="dave", **settings):
    """Return the body of a call that finds the search caches updated."""
    await find(world, name, **settings)
    clock.now += 5
    return await find(world, name, **settings)


def paths(world):
    return sorted(call["path"].rpartition("/provider-a")[2] for call in world.calls())


def addresses(body):
    return [(person["email"], person["sources"]) for person in body["people"]]


@pytest.mark.parametrize("source", SCOPES)
async def test_a_source_is_one_call_behind_a_scope_of_its_own(world, consented, clock, source):
    await consented(source)

    body = await find_updated(world, clock, "dave", allowedEmailOperations=[*CONTACTS, *DIRECTORY])

    assert body["searched"] == [source]
    assert paths(world) == [PATHS[source]]
    assert [email for email, _ in addresses(body)] == sorted(
        email for _, email in KNOWN[source] if "@" in email
    )
    assert "authWarnings" not in body


async def test_a_person_of_all_sources_is_one(world, consented, clock):
    flags = [*CONTACTS, *DIRECTORY]

    body = await find_updated(world, clock, "miller dave", allowedEmailOperations=flags)

    assert body["people"] == [
        {
            "email": "dave@north.example",
            "name": "Dave Miller",
            "lastContact": None,
            "connectionId": world.connections["PROVIDER_A"],
            "account": ME_A,
            "sources": ["contacts", "other_contacts"],
        }
    ]
    assert (body["outcome"], body["totalCount"]) == ("one", 1)
    assert body["searched"] == ["contacts", "other_contacts", "directory"]
    assert paths(world) == sorted(PATHS.values())


@pytest.mark.parametrize(("flags", "asked"), [(CONTACTS, 2), (DIRECTORY, 1), (["read_only"], 0)])
async def test_a_source_is_behind_its_flag(world, consented, clock, flags, asked):
    body = await find(world, "stone", allowedEmailOperations=flags)

    assert len(set(PATHS.values()) & set(paths(world))) == asked
    assert ("directory" in body["searched"]) == (flags == DIRECTORY)


@pytest.mark.parametrize("age", [0, 4.9, 305])
async def test_a_cache_that_may_be_old_leaves_nothing_certain(world, consented, clock, age):
    await find(world, "ann", allowedEmailOperations=CONTACTS)
    clock.now += age

    body = await find(world, "ann", allowedEmailOperations=CONTACTS)
    clock.now += 5
    again = await find(world, "ann", allowedEmailOperations=CONTACTS)

    assert (body["outcome"], body["people"]) == ("incomplete", [])
    assert (again["outcome"], addresses(again)) == ("one", [("ann@else.example", ["contacts"])])


async def test_a_directory_is_certain_at_once(world, consented, clock):
    body = await find(world, "stone", allowedEmailOperations=DIRECTORY)

    assert (body["outcome"], addresses(body)) == ("one", [("stone@work.example", ["directory"])])


@pytest.mark.parametrize(("source", "most"), [("contacts", 30), ("directory", 100)])
async def test_more_than_a_page_is_incomplete(world, consented, clock, source, most):
    rules = {"allow": ["@work.example"]}
    flags = [*CONTACTS, *DIRECTORY]
    people = [("Dave", "dave@work.example"), *(("Dave", f"d{n}@x.example") for n in range(most))]

    outcomes = []
    for number in (most - 1, most + 1):
        store_people(world.sandbox.state.database, **{source: people[:number]})
        body = await find_updated(world, clock, allowedEmailOperations=flags, recipientRules=rules)
        assert addresses(body) == [("dave@work.example", [source])]
        assert paths(world) == sorted(PATHS.values())
        outcomes.append(body["outcome"])

    assert outcomes == ["one", "incomplete"]


async def test_an_account_without_an_organization_has_a_warning(world, consented, clock):
    store_people(world.sandbox.state.database, **{**KNOWN, "directory": None})

    flags = [*CONTACTS, *DIRECTORY]
    body = await find_updated(world, clock, "miller", allowedEmailOperations=flags)

    assert body["outcome"] == "incomplete"
    (warning,) = body["authWarnings"]
    assert warning.startswith(f"Provider A ({ME_A}), directory: ")


@pytest.mark.parametrize("kind", ["403", "500", "malformed", "scope"])
async def test_a_source_that_fails_is_named(world, consented, clock, kind):
    if kind == "scope":  # the consent was taken back
        granted = [*WRITES["PROVIDER_A"], *SCOPES.values()]
        await consented("contacts", "directory", granted=granted)
    else:
        await world.fail("provider-a", kind=kind, count=4, match="otherContacts")

    flags = [*CONTACTS, *DIRECTORY]
    body = await find(world, "stone", allowedEmailOperations=flags)

    assert (body["outcome"], addresses(body)) == (
        "incomplete",
        [("stone@work.example", ["directory"])],
    )
    (warning,) = body["authWarnings"]
    assert warning.startswith(f"Provider A ({ME_A}), other_contacts: ")


async def test_a_throttle_of_all_sources_is_passed_on(world, consented, clock):
    await find(world, "ann", allowedEmailOperations=CONTACTS)
    clock.now += 5
    await world.fail("provider-a", kind="429", match="people:searchContacts", retryAfter=60)
    token = await world.token({"allowedEmailOperations": CONTACTS})

    async with world.client(token) as client:
        response = await client.get(PEOPLE, params={"name": "ann"})

    assert (response.status_code, response.headers["retry-after"]) == (429, "60")


async def test_whom_a_token_may_not_write_to_changes_neither_answers_nor_calls(
    world, consented, clock
):
    rules = {"allow": ["*"], "block": ["@else.example"]}
    settings = {"allowedEmailOperations": [*CONTACTS, *DIRECTORY], "recipientRules": rules}

    async def answer():
        body = await find_updated(world, clock, "dave", **settings)
        return body, paths(world)

    before = await answer()
    more = ("Dave Hidden", "hidden@else.example")
    people = {source: [more, *known] for source, known in KNOWN.items()}
    store_people(world.sandbox.state.database, **people)

    assert await answer() == before
    assert "else.example" not in str(before)


@pytest.mark.parametrize("name", ['") OR ("mail:s', "x:y AND z", "dave' OR 1 eq 1"])
async def test_operators_are_words(world, consented, clock, name):
    flags = [*CONTACTS, *DIRECTORY]
    body = await find_updated(world, clock, name, allowedEmailOperations=flags)

    assert (body["outcome"], body["people"]) == ("none", [])


def test_the_colon_of_a_method_is_sent_as_it_is():
    url = BaseUrl.parse("https://p.example/v1/people:searchContacts").join((), [("query", "a")])

    assert str(url) == "https://p.example/v1/people:searchContacts?query=a"
