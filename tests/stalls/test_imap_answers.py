"""Answers of a hostile IMAP server: how long they hold the loop, and what the caller gets."""

import hostile_imap_server
import pytest
import pytest_asyncio
from hostile_imap_server import LEAF

pytestmark = pytest.mark.stall
MESSAGES = "/api/access/email/messages"
MIB = 1 << 20
FAILED = ["Mail server (ada@example.test): failed."]
SHORTENED = ["Mail server (ada@example.test): has messages of more parts than are shown."]
ORDERS = {
    "as asked": ("UID", "FLAGS", "INTERNALDATE", "HEADERS", "BODYSTRUCTURE"),
    "structure first": ("BODYSTRUCTURE", "HEADERS", "INTERNALDATE", "FLAGS", "UID"),
}


@pytest.fixture
def server():
    with hostile_imap_server.running() as server:
        yield server


@pytest_asyncio.fixture(autouse=True)
async def _mailbox(world, server):
    """Connect the server's mailbox beside those of the world."""
    body = {
        "resourceId": 1,
        "operatorId": world.operator_id,
        "kind": "email",
        "provider": "IMAP",
        "accountEmail": "ada@example.test",
        "baseUrl": server.url,
        "credentials": {"username": "ada", "password": "secret"},
    }
    response = await world.admin.post("/api/connections", json=body)
    assert response.status_code == 201, response.text


@pytest.fixture
def read(stalls, client, beside_probes):
    async def read(name, query="?limit=50"):
        """Read a page, timed; return the subjects of the server's mails, and the warnings."""
        response = await stalls.measure(
            name, lambda: beside_probes(lambda: client.get(MESSAGES + query))
        )
        assert response.status_code == 200, response.text
        body = response.json()
        mails = [mail["subject"] for mail in body["emails"] if mail["provider"] == "IMAP"]
        return mails, body.get("authWarnings")

    return read


def whole_page(number=50):
    return [f"Mail {uid}" for uid in range(number, 0, -1)]


def many_parts(number):
    """Return the BODYSTRUCTURE of a message of many parts, 41 bytes each."""
    return b"(" + b'("IMAGE" "PNG" NIL NIL NIL "BASE64" 5555)' * number + b' "MIXED")'


async def test_an_ordinary_page(read):
    assert await read("IMAP: an ordinary page") == (whole_page(), None)


async def test_rows_of_15_megabytes_of_brackets(server, read):
    row = b"* 1 FETCH (UID 1 FLAGS " + b"()" * (MIB // 2 - 50) + b")\r\n"
    server.answers["UID FETCH"] = lambda command: row * 15 if b"FLAGS" in command else None

    _, warnings = await read("IMAP: FETCH of 15 MB ()()…")
    assert warnings is None


async def test_300_000_folders(server, read):
    lines = b"".join(b'* LIST () "/" f%d\r\n' % number for number in range(300_000))
    server.answers["LIST"] = lambda _: lines

    assert await read("IMAP: LIST of 300,000 folders") == ([], FAILED)


async def test_500_000_rows(server, read):
    lines = b"".join(b"* %d FETCH (UID %d FLAGS ())\r\n" % (n, n) for n in range(1, 500_001))
    server.answers["UID FETCH"] = lambda _: lines

    assert await read("IMAP: 500,000 rows of FETCH") == ([], FAILED)


async def test_searches_that_find_two_million_messages(server, read):
    line = b"* SEARCH " + b" ".join(b"%d" % uid for uid in range(10**6, 10**6 + 140_000))
    server.answers["UID SEARCH"] = lambda _: line[: MIB - 9] + b"\r\n"
    assert await read("IMAP: SEARCH of 130,000 numbers", "?q=keelhaul") == ([], None)

    server.answers["UID SEARCH"] = lambda _: (line[: MIB - 9] + b"\r\n") * 14
    assert await read("IMAP: 14 times SEARCH of 130,000 numbers", "?q=keelhaul") == ([], FAILED)


async def test_five_million_numbers_in_ten_bytes(server, read):
    server.answers["CAPABILITY"] = lambda _: b"* CAPABILITY IMAP4rev1 LIST-STATUS ESEARCH\r\n"
    server.answers["UID SEARCH"] = lambda _: b"* ESEARCH UID ALL 1:900000\r\n"
    assert await read("IMAP: ESEARCH of 900,000", "?q=keelhaul") == ([], None)

    server.answers["UID SEARCH"] = lambda _: b"* ESEARCH UID ALL 1:5000000\r\n"
    assert await read("IMAP: ESEARCH of 5,000,000", "?q=keelhaul") == ([], FAILED)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("odd", "number"), [(50, 1000), (5, 10_000), (50, 10_000), (50, 30_000)])
async def test_mails_of_many_parts_are_poorer(server, read, odd, number, order):
    server.item_order = ORDERS[order]
    server.structures = dict.fromkeys(range(1, odd + 1), many_parts(number))

    name = f"IMAP: {odd} of 50 mails of {number:,} parts, {order}"
    assert await read(name) == (whole_page(), SHORTENED)


@pytest.mark.parametrize("order", ORDERS)
async def test_mails_nested_deep_are_poorer(server, read, order):
    server.item_order = ORDERS[order]
    deep = b"(" * 100 + LEAF + b' "MIXED")' * 100
    deeper = b"(" * 5000 + LEAF + b' "MIXED")' * 5000
    server.structures = {**dict.fromkeys(range(1, 26), deep), 26: deeper, 27: deeper}

    name = f"IMAP: mails nested 100 and 5,000 deep, {order}"
    assert await read(name) == (whole_page(), SHORTENED)


async def test_a_mail_of_many_parts_has_the_first_of_them(server, client):
    file = b'("IMAGE" "PNG" ("NAME" "f.png") NIL NIL "BASE64" 78)'
    server.messages = 1
    server.structures[1] = b"(" + LEAF + file * 10_000 + b' "MIXED")'

    listed = (await client.get(f"{MESSAGES}?limit=50")).json()["emails"]
    (summary,) = [mail for mail in listed if mail["provider"] == "IMAP"]
    mail = (await client.get(f"{MESSAGES}/{summary['id']}")).json()

    assert (mail["subject"], mail["body"], mail["hasAttachments"]) == ("Mail 1", "hello", True)
    assert len(mail["attachments"]) == 499
    assert mail["attachments"][-1]["id"].endswith(".500")


ADDRESSES = {
    "plain": b"a@b.example,",
    "unusual": b"a@b.example (x) <",
    "quotes": b'"',
    "encoded words": b"=?utf-8?q?a?= <a@b.example>, ",
}


@pytest.mark.parametrize("name", ADDRESSES)
async def test_mails_with_a_megabyte_of_headers_are_poorer(server, read, name):
    for uid in range(1, 51):
        subject = b"Subject: Mail %d\r\n" % uid
        people = ADDRESSES[name] * (MIB // 2 // len(ADDRESSES[name]))
        server.headers[uid] = subject + b"To: " + people + b"\r\nCc: " + people + b"\r\n\r\n"

    assert await read(f"IMAP: 50 mails with 1 MB of addresses, {name}") == (whole_page(), None)


@pytest.mark.parametrize("name", ADDRESSES)
async def test_people_are_found_among_a_megabyte_of_addresses(
    server, stalls, client, beside_probes, name
):
    for uid in range(1, 51):
        people = ADDRESSES[name] * (MIB // 2 // len(ADDRESSES[name]))
        server.headers[uid] = b"From: ada@b.example\r\nTo: " + people + b"\r\n\r\n"

    response = await stalls.measure(
        f"IMAP: people of 50 mails with half a megabyte of addresses, {name}",
        lambda: beside_probes(lambda: client.get("/api/access/people?name=b")),
    )

    assert response.status_code == 200, response.text
    assert "ada@b.example" in [person["email"] for person in response.json()["people"]]


async def test_a_name_of_a_file_changes_no_capability(server, read):
    name = b'* 1 FETCH (UID 1 BODYSTRUCTURE ("A" "B" ("NAME" "[CAPABILITY X]")))\r\n'
    server.answers["UID FETCH"] = lambda command: None if b"FLAGS" in command else name
    server.structures[1] = LEAF.replace(b'"utf-8"', b'"* CAPABILITY EVIL"')
    await read("IMAP: capabilities in names")
    await read("IMAP: capabilities in names")

    lists = [command for command in server.heard if command.startswith("LIST")]
    assert lists
    assert all("RETURN (STATUS" in command for command in lists)
