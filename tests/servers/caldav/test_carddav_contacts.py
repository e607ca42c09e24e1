"""Who is meant by a name: the address books of an owner's own server."""

import pytest

from sandbox.provider_b.people import store_people

PEOPLE = "/api/access/people"
CONTACTS = {"allowedEmailOperations": ["search_contacts"]}
ADA = "ada@example.test"


def card(uid, *lines):
    """Return a card of vCard 3.0."""
    begin = ["BEGIN:VCARD", "VERSION:3.0", f"UID:{uid}"]
    return "\r\n".join([*begin, *lines, "END:VCARD", ""])


DAVE = ("FN:Dave Miller", "N:Miller;Dave;;;", "EMAIL;TYPE=INTERNET,HOME:dave@north.example")
ANN = ("FN:Ann Stone", "N:Stone;Ann;;;", "NICKNAME:Nan", "item1.EMAIL:ann@south.example")


class AddressBook:
    """An address book of a connected server."""

    def __init__(self, world, server, connection, path):
        self.world, self.server, self.connection, self.path = world, server, connection, path
        self.calls = []
        listener = world.gateway.services.accounts.origins
        listener.listener = lambda event: self.calls.append((event.method, event.outcome))

    def put(self, name, *lines, path=None):
        # Radicale takes text/vcard by its content; Xandikos by its type.
        self.server.request(
            "PUT",
            f"{path or self.path}{name}.vcf",
            card(name, *lines),
            **{"Content-Type": "text/vcard; charset=utf-8"},
        )

    async def find(self, name, **settings):
        token = await self.world.token({**CONTACTS, **settings})
        self.calls.clear()
        async with self.world.client(token) as client:
            response = await client.get(PEOPLE, params={"name": name})
        assert response.status_code == 200, response.text
        return response.json()


@pytest.fixture
async def book(world, server, connect):
    path = server.add_address_book("friends")
    created = await connect(grantedScopes=["carddav"])
    assert (created.status_code, created.json()["canWrite"]) == (201, False), created.text
    book = AddressBook(world, server, created.json()["id"], path)
    book.put("dave", *DAVE)
    book.put("ann", *ANN)
    yield book
    server.delete(path)


def addresses(body):
    return [(person["email"], person["name"]) for person in body["people"]]


async def test_a_contact_is_found_by_one_call_of_each_book(book):
    await book.find("dave")

    body = await book.find("MILLER dave")

    assert body["people"] == [
        {
            "email": "dave@north.example",
            "name": "Dave Miller",
            "lastContact": None,
            "connectionId": book.connection,
            "account": ADA,
            "sources": ["contacts"],
        }
    ]
    assert (body["outcome"], body["searched"]) == ("one", ["contacts"])
    books = 1 if book.server.name == "radicale" else 2  # Xandikos makes one for each user
    assert [method for method, _ in book.calls] == ["REPORT"] * books


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("nan", [("ann@south.example", "Ann Stone (Nan)")]),
        ("ann@south", [("ann@south.example", "Ann Stone (Nan)")]),
        ("stone ann", [("ann@south.example", "Ann Stone (Nan)")]),
        ("tone", []),  # no beginning of a word
        ("dave stone", []),
        ("zoe", []),
    ],
)
async def test_names_nicknames_and_addresses_are_searched(book, name, found):
    body = await book.find(name)

    assert (addresses(body), body["outcome"]) == (found, "one" if found else "none")
    assert "authWarnings" not in body


async def test_every_book_is_searched(book):
    other = book.server.add_address_book("work")
    book.put("other", "FN:Dave Stone", "N:Stone;Dave;;;", "EMAIL:stone@work.example", path=other)
    try:
        body = await book.find("dave")
    finally:
        book.server.delete(other)

    assert body["outcome"] == "several"
    assert [email for email, _ in addresses(body)] == ["dave@north.example", "stone@work.example"]


async def test_a_book_that_is_gone_is_looked_for_anew(book):
    other = book.server.add_address_book("work")
    await book.find("dave")
    book.server.delete(other)

    body = await book.find("dave")

    assert (body["outcome"], "authWarnings" in body) == ("one", False)


async def test_nothing_is_asked_without_flag_or_scope(world, book, connect):
    without_flag = await book.find("dave", allowedEmailOperations=["read_only"])
    calls = list(book.calls)
    path = f"/api/connections/{book.connection}"
    assert (await world.admin.patch(path, json={"grantedScopes": []})).status_code == 200
    without_scope = await book.find("dave")

    assert (without_flag["people"], without_scope["people"]) == ([], [])
    assert without_scope["searched"] == []
    assert "REPORT" not in {method for method, _ in [*calls, *book.calls]}


async def test_hidden_people_change_neither_answers_nor_calls(book):
    rules = {"recipientRules": {"allow": ["@north.example"]}}

    async def answer():
        return await book.find("dave", **rules), list(book.calls)

    await answer()
    before = await answer()
    book.put("hidden", "FN:Dave Hidden", "N:Hidden;Dave;;;", "EMAIL:hidden@else.example")

    assert await answer() == before


async def test_a_wrong_password_is_a_warning_of_the_source(world, book):
    if not book.server.has_passwords:
        pytest.skip("the server takes any password")
    store_people(world.sandbox.state.database, contacts=[], users=[])
    path = f"/api/connections/{book.connection}"
    credentials = {"username": "ada", "password": "wrong"}
    await world.admin.patch(path, json={"credentials": credentials})

    body = await book.find("ana", allowedEmailOperations=["search_emails", "search_contacts"])

    assert [email for email, _ in addresses(body)] == ["ana@home.example"]
    assert body["outcome"] == "incomplete"
    assert f"({ADA}), contacts: " in body["authWarnings"][0]


async def test_as_many_cards_as_were_asked_for_are_incomplete(book, monkeypatch):
    monkeypatch.setattr("providers.connectors.caldav.contacts.address_books._LIMIT", 2)
    rules = {"allow": ["@north.example"]}
    book.put("dave2", "FN:Dave Two", "N:Two;Dave;;;", "EMAIL:two@else.example")

    body = await book.find("dave", recipientRules=rules)

    assert (body["outcome"], addresses(body)) == (
        "incomplete",
        [("dave@north.example", "Dave Miller")],
    )
