"""Provider A's people wire: searches of contacts, other contacts and the directory."""

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.mail.store import Account
from sandbox.provider_a.people import store_people
from sandbox.state import open_state

SCOPES = ["contacts.readonly", "contacts.other.readonly", "directory.readonly"]
CONTACTS, OTHERS = "/people:searchContacts", "/otherContacts:search"
DIRECTORY = "/people:searchDirectoryPeople"
PROFILES = {"sources": "DIRECTORY_SOURCE_TYPE_DOMAIN_PROFILE"}
ANN = {"readMask": "names,emailAddresses", "query": "ann"}


class World:
    """The sandbox with a clock of its own, and a client with all scopes."""

    def __init__(self):
        self.now = 1000.0
        self.state = open_state(None, clock=lambda: self.now)
        self.state.mails.set_account("provider-a", Account("me@x.test", "Me"))
        self.app = Sandbox(self.state, public_base="http://sandbox.test")

    def client(self, scopes=SCOPES):
        token = self.state.tokens.issue("providerA", "me@x.test", scopes)
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app),
            base_url="http://sandbox.test/provider-a/v1/",
            headers={"authorization": f"Bearer {token}"},
        )


@pytest.fixture
def world():
    world = World()
    people = [("Ann Miller", "ann@x.test"), ("Miller Ann", "miller@x.test")]
    store_people(world.state.database, contacts=people, other_contacts=people[:1], directory=people)
    return world


def names(response):
    assert response.status_code == 200, response.text
    body = response.json()
    people = body["people"] if "people" in body else [each["person"] for each in body["results"]]
    return [person["names"][0]["displayName"] for person in people]


@pytest.mark.parametrize("method", [CONTACTS, OTHERS])
async def test_contacts_come_from_a_cache_that_a_call_updates(world, method):
    async with world.client() as client:
        cold = await client.get(method, params={**ANN, "query": ""})
        soon = await client.get(method, params=ANN)
        world.now += 5
        warm = await client.get(method, params=ANN)
        store_people(world.state.database)
        world.now += 300
        old = await client.get(method, params=ANN)

    assert (cold.json(), names(soon), names(old)) == ({"results": []}, [], [])
    assert names(warm)[0] == "Ann Miller"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("ann", ["Ann Miller", "Miller Ann"]),
        ("mil", ["Ann Miller", "Miller Ann"]),
        ("ann mil", ["Ann Miller"]),
        ("mill ann", []),
        ("nn", []),
        ("", []),
    ],
)
async def test_a_query_is_a_phrase_whose_last_word_may_be_a_beginning(world, query, found):
    async with world.client() as client:
        await client.get(CONTACTS, params=ANN)
        world.now += 5

        assert names(await client.get(CONTACTS, params={**ANN, "query": query})) == found


@pytest.mark.parametrize(("size", "number"), [(None, 10), ("0", 10), ("3", 3), ("500", 30)])
async def test_searches_of_contacts_return_thirty_at_most(world, size, number):
    many = [("Ann", f"a{index}@x.test") for index in range(40)]
    store_people(world.state.database, contacts=many)
    params = {**ANN, "pageSize": size} if size else ANN

    async with world.client() as client:
        await client.get(CONTACTS, params=params)
        world.now += 5
        body = (await client.get(CONTACTS, params=params)).json()

    assert (len(body["results"]), list(body)) == (number, ["results"])


async def test_the_directory_has_pages(world):
    many = [("Ann", f"a{index}@x.test") for index in range(150)]
    store_people(world.state.database, directory=many)

    async with world.client() as client:
        first = (await client.get(DIRECTORY, params={**ANN, **PROFILES})).json()
        token = first["nextPageToken"]
        rest = await client.get(DIRECTORY, params={**ANN, **PROFILES, "pageToken": token})

    assert (len(first["people"]), first["totalSize"]) == (100, 150)
    assert (len(rest.json()["people"]), "nextPageToken" in rest.json()) == (50, False)


REFUSED = [
    (CONTACTS, {"query": "ann"}, "readMask mask is required"),
    (OTHERS, {**ANN, "readMask": "organizations"}, "Invalid readMask"),
    (CONTACTS, {**ANN, "readMask": "name"}, "Invalid readMask"),
    (CONTACTS, {**ANN, "pageSize": "x"}, "page_size"),
    (CONTACTS, {**ANN, "personFields": "names"}, 'Unknown name "personFields"'),
    (OTHERS, {**ANN, "sources": "READ_SOURCE_TYPE_CONTACT"}, 'Unknown name "sources"'),
    (DIRECTORY, ANN, "sources must be specified"),
    (DIRECTORY, {**ANN, "sources": "READ_SOURCE_TYPE_CONTACT"}, "sources must be specified"),
    (DIRECTORY, {**ANN, **PROFILES, "query": ""}, "query must be specified"),
    (DIRECTORY, {**ANN, **PROFILES, "pageSize": "501"}, "at most 500"),
    (DIRECTORY, {**ANN, **PROFILES, "pageToken": "x"}, "Invalid page token"),
]


@pytest.mark.parametrize(("method", "params", "message"), REFUSED)
async def test_wrong_parameters_are_refused(world, method, params, message):
    async with world.client() as client:
        response = await client.get(method, params=params)

    assert response.status_code == 400
    assert message in response.json()["error"]["message"]


async def test_an_account_without_an_organization_has_no_directory(world):
    store_people(world.state.database, directory=None)

    async with world.client() as client:
        response = await client.get(DIRECTORY, params={**ANN, **PROFILES})

    error = response.json()["error"]
    assert (error["code"], error["errors"][0]["reason"]) == (400, "failedPrecondition")
    assert error["message"] == "Must be a G Suite domain user."


@pytest.mark.parametrize(
    ("method", "scope"), [*zip([CONTACTS, OTHERS, DIRECTORY], SCOPES, strict=True)]
)
async def test_each_search_has_a_scope_of_its_own(world, method, scope):
    params = {**ANN, **PROFILES} if method == DIRECTORY else ANN
    others = [each for each in SCOPES if each != scope]

    async with world.client(others) as client:
        refused = await client.get(method, params=params)
    async with world.client([scope]) as client:
        allowed = await client.get(method, params=params)
        unknown = await client.get("/people:listAll", params=params)

    assert (refused.status_code, allowed.status_code, unknown.status_code) == (403, 200, 404)
    assert refused.json()["error"]["details"][0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
