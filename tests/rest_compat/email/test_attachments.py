"""The bytes of attachments: by REST, by range, and by the signed link of GraphQL."""

import base64
from email.message import EmailMessage
from itertools import count
from urllib.parse import quote, urlsplit

import pytest
import pytest_asyncio
from callers import token_of_caller
from world import api_id, opened

from gateway.http import attachment_links

MESSAGES = "/api/access/email/messages"
LINK = """query($emailId: String!, $attachmentId: String!) {
  emailAttachment(emailId: $emailId, attachmentId: $attachmentId) {
    id name contentType size isInline downloadUrl expiresAt
  }
}"""
LEASE = b"%PDF-1.4 lease"
LARGE = bytes(range(256)) * 2048  # 512 KiB: several chunks of the upstream's response

pytestmark = pytest.mark.asyncio(loop_scope="module")
callers = count(1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled_world(world_template, tmp_path_factory):
    """A world for the whole module: each test adds the messages that it reads."""
    async with opened(*world_template, tmp_path_factory.mktemp("attachments")) as world:
        yield world


@pytest.fixture
def world(filled_world):
    """The world with empty call logs, and with an address of its own for the caller."""
    filled_world.forget_calls()
    for mailbox in ("providerA", "providerB"):
        filled_world.sandbox.upstreams[mailbox].faults.clear()
    return filled_world.called_from(f"10.2.0.{next(callers)}")


@pytest_asyncio.fixture(loop_scope="module")
async def client(request, world):
    token = await token_of_caller(request, world)
    async with world.client(token) as client:
        yield client


def add(world, mailbox, *files):
    """Put a message with *files* (name, media type, bytes) into a mailbox; return its API id."""
    message = EmailMessage()
    message["From"], message["Subject"] = "ana@home.example", "Files"
    message["To"] = f"me@{mailbox}.example"
    message.set_content("See the files.\n")
    for name, kind, content in files:
        main, _, sub = kind.partition("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    stored = world.sandbox.state.mails.add(mailbox, message.as_bytes(), folder="inbox")
    return api_id(mailbox, stored.immutable_id)


async def attachments(client, email_id):
    answer = await client.get(f"{MESSAGES}/{quote(email_id, safe='')}")
    assert answer.status_code == 200, answer.text
    return answer.json()["attachments"]


async def path_of(client, email_id, number=0):
    file = (await attachments(client, email_id))[number]
    return (
        f"{MESSAGES}/{quote(email_id, safe='')}/attachments/{quote(file['id'], safe='')}",
        file["id"],
    )


# -- REST ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_the_bytes_are_served_with_type_name_and_length(client, world, mailbox):
    email_id = add(world, mailbox, ("lease.pdf", "application/pdf", LEASE))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path)

    assert (answer.status_code, answer.content) == (200, LEASE)
    headers = answer.headers
    assert headers["content-type"] == "application/pdf"
    assert headers["content-length"] == "14"
    assert headers["content-disposition"] == 'attachment; filename="lease.pdf"'
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["accept-ranges"] == "bytes"
    assert headers["cache-control"] == "no-store"


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 12, 13, 1000, len(LARGE) - 1, len(LARGE)])
@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_every_size_arrives_whole(client, world, mailbox, size):
    content = LARGE[:size]
    email_id = add(world, mailbox, ("a.bin", "application/octet-stream", content))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path)

    assert answer.status_code == 200
    assert answer.content == content


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_each_attachment_of_a_message_has_its_own_bytes(client, world, mailbox):
    files = [("a.txt", "text/plain", b"first"), ("b.bin", "image/png", b"second")]
    email_id = add(world, mailbox, *files)

    answers = [await client.get((await path_of(client, email_id, number))[0]) for number in (0, 1)]

    assert [answer.content for answer in answers] == [b"first", b"second"]


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_head_has_the_headers_alone(client, world, mailbox):
    email_id = add(world, mailbox, ("lease.pdf", "application/pdf", LEASE))
    path, _ = await path_of(client, email_id)

    answer = await client.head(path)

    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "14"


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("bytes=0-3", (206, b"%PDF", "bytes 0-3/14"), id="from the start"),
        pytest.param("bytes=9-", (206, b"lease", "bytes 9-13/14"), id="to the end"),
        pytest.param("bytes=-5", (206, b"lease", "bytes 9-13/14"), id="the last bytes"),
        pytest.param("bytes=-99", (206, LEASE, "bytes 0-13/14"), id="more than there is"),
        pytest.param("bytes=9-99", (206, b"lease", "bytes 9-13/14"), id="beyond the end"),
        pytest.param("bytes=0-1,3-4", (200, LEASE, None), id="several ranges: ignored"),
        pytest.param("bytes=4-2", (200, LEASE, None), id="backwards: ignored"),
        pytest.param("lines=1-2", (200, LEASE, None), id="another unit: ignored"),
        pytest.param("bytes=-", (200, LEASE, None), id="empty: ignored"),
    ],
)
async def test_a_single_range_is_served(client, world, mailbox, wanted, expected):
    status, content, content_range = expected
    email_id = add(world, mailbox, ("lease.pdf", "application/pdf", LEASE))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path, headers={"range": wanted})

    assert (answer.status_code, answer.content) == (status, content)
    assert answer.headers.get("content-range") == content_range
    assert answer.headers["content-length"] == str(len(content))


async def test_a_range_deep_in_a_large_file_is_served(client, world):
    email_id = add(world, "provider-a", ("a.bin", "application/octet-stream", LARGE))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path, headers={"range": "bytes=300001-300010"})

    assert (answer.status_code, answer.content) == (206, LARGE[300001:300011])


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_a_range_after_the_end_is_refused(client, world, mailbox):
    email_id = add(world, mailbox, ("lease.pdf", "application/pdf", LEASE))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path, headers={"range": "bytes=14-"})

    assert answer.status_code == 416
    assert answer.json()["error"] == "RANGE_NOT_SATISFIABLE"
    assert answer.headers["content-range"] == "bytes */14"


async def test_a_range_of_another_version_is_ignored(client, world):
    path, _ = await path_of(client, world.id("lease"))
    etag = (await client.get(path)).headers["etag"]

    same = await client.get(path, headers={"range": "bytes=0-3", "if-range": etag})
    other = await client.get(path, headers={"range": "bytes=0-3", "if-range": '"other"'})

    assert (same.status_code, same.content) == (206, b"%PDF")
    assert (other.status_code, other.content) == (200, LEASE)


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        pytest.param("a b.txt", 'attachment; filename="a b.txt"', id="plain"),
        pytest.param(
            'x"; filename="evil.exe',
            'attachment; filename="x__ filename=_evil.exe"; '
            "filename*=UTF-8''x%22%3B%20filename%3D%22evil.exe",
            id="quotes",
        ),
        pytest.param(
            "Übersicht.txt",
            "attachment; filename=\"_bersicht.txt\"; filename*=UTF-8''%C3%9Cbersicht.txt",
            id="beyond ASCII",
        ),
        pytest.param("../../etc/passwd", 'attachment; filename="_._.._etc_passwd"', id="a path"),
    ],
)
async def test_the_file_name_is_safe_in_the_header(client, world, name, disposition):
    email_id = add(world, "provider-a", (name, "application/octet-stream", b"x"))
    path, _ = await path_of(client, email_id)

    answer = await client.get(path)

    assert answer.headers["content-disposition"] == disposition


async def test_an_attachment_belongs_to_its_message(client, world):
    first = add(world, "provider-a", ("a.txt", "text/plain", b"first"))
    second = add(world, "provider-a", ("b.txt", "text/plain", b"second"))
    _, attachment_id = await path_of(client, first)
    world.forget_calls()

    answer = await client.get(f"{MESSAGES}/{second}/attachments/{attachment_id}")

    assert answer.status_code == 404
    assert answer.json()["error"] == "NOT_FOUND"
    assert world.calls() == []


async def test_an_attachment_of_provider_b_belongs_to_its_message(client, world):
    first = add(world, "provider-b", ("a.txt", "text/plain", b"first"))
    second = add(world, "provider-b", ("b.txt", "text/plain", b"second"))
    _, attachment_id = await path_of(client, first)

    answer = await client.get(
        f"{MESSAGES}/{quote(second, safe='')}/attachments/{quote(attachment_id, safe='')}"
    )

    assert answer.status_code == 404


@pytest.mark.parametrize("attachment_id", ["", "x", "18c2f1.1", "1", "%2E%2E", "%2F", "a" * 1025])
@pytest.mark.parametrize("mail", ["lease", "budget"])
async def test_an_unknown_attachment_is_not_found(client, world, mail, attachment_id):
    email_id = quote(world.id(mail), safe="")

    answer = await client.get(f"{MESSAGES}/{email_id}/attachments/{attachment_id}")

    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")


HIDING = [word for word in ("subject", "from", "body", "to", "cc") if word != "attachments"]


@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_hidden_attachments_are_neither_served_nor_fetched(world, client, mode):
    path, attachment_id = await path_of(client, world.id("lease"))
    settings = {"visibleEmailFields": HIDING, "maskMode": mode}
    masked = world.client(await world.token(settings))
    world.forget_calls()

    by_rest = await masked.get(path)
    by_graphql = await masked.post(
        "/graphql",
        json={
            "query": LINK,
            "variables": {"emailId": world.id("lease"), "attachmentId": attachment_id},
        },
    )

    assert (by_rest.status_code, by_rest.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    (error,) = by_graphql.json()["errors"]
    assert error["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert world.calls() == []


async def test_the_flag_is_needed(world, client):
    path, _ = await path_of(client, world.id("lease"))
    listing = world.client(await world.token({"allowedEmailOperations": ["search_emails"]}))
    world.forget_calls()

    answer = await listing.get(path)

    assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert answer.json()["requiredOperation"] == "view_email"
    assert world.calls() == []


async def test_bytes_are_not_fetched_before_they_are_read(client, world):
    _, attachment_id = await path_of(client, world.id("lease"))
    world.forget_calls()

    answer = await client.post(
        "/graphql",
        json={
            "query": LINK,
            "variables": {"emailId": world.id("lease"), "attachmentId": attachment_id},
        },
    )

    assert "errors" not in answer.json()
    assert [call["path"].count("/attachments/") for call in world.calls()] == [0]


async def test_a_failure_of_the_provider_is_an_error_and_no_empty_file(client, world, filled_world):
    path, _ = await path_of(client, world.id("lease"))
    await filled_world.fail("provider-a", kind="500", count=9)

    answer = await client.get(path)

    assert (answer.status_code, answer.json()["error"]) == (502, "PROVIDER_ERROR")


# -- signed links ----------------------------------------------------------------------------------


async def own_token(world, client):
    """Return the caller's token as administrators see it."""
    token_id = (await client.get("/api/access/token")).json()["id"]
    return (await world.admin.get(f"/api/access-tokens/{token_id}")).json()


async def link_to(world, client, email_id):
    _, attachment_id = await path_of(client, email_id)
    answer = await client.post(
        "/graphql",
        json={"query": LINK, "variables": {"emailId": email_id, "attachmentId": attachment_id}},
    )
    return answer.json()["data"]["emailAttachment"]


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
async def test_a_link_leads_to_the_same_bytes_without_credentials(client, world, mailbox):
    email_id = add(world, mailbox, ("a.bin", "application/octet-stream", LARGE))
    path, attachment_id = await path_of(client, email_id)

    link = await link_to(world, client, email_id)

    address = urlsplit(link["downloadUrl"])
    assert link == {
        "id": attachment_id,
        "name": "a.bin",
        "contentType": "application/octet-stream",
        "size": len(LARGE),
        "isInline": False,
        "downloadUrl": link["downloadUrl"],
        "expiresAt": link["expiresAt"],
    }
    direct, followed = await client.get(path), await world.client().get(address.path)
    assert followed.status_code == 200
    assert followed.content == direct.content == LARGE
    assert followed.headers["content-disposition"] == direct.headers["content-disposition"]
    part = await world.client().get(address.path, headers={"range": "bytes=1-2"})
    assert (part.status_code, part.content) == (206, LARGE[1:3])


async def test_nothing_in_a_link_is_readable(client, world):
    link = await link_to(world, client, world.id("lease"))

    sealed = link["downloadUrl"].rpartition("/")[2]

    assert world.id("lease").partition(":")[2].encode() not in base64.urlsafe_b64decode(
        sealed + "=" * (-len(sealed) % 4)
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Prefer": "graphql"},
        {"Prefer": "handling=strict, dry-run, cost, partial=fail"},
        {"If-Effect": "x", "Idempotency-Key": "k", "If-Match": "x", "Authorization": "Bearer x"},
    ],
)
async def test_a_link_tells_nothing_of_what_it_seals(client, world, headers):
    link = await link_to(world, client, world.id("lease"))
    path = urlsplit(link["downloadUrl"]).path
    plain = await world.client().get(path)
    answer = await world.client().get(path, headers=headers)

    own = {"date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}
    assert (answer.status_code, answer.content) == (200, plain.content)
    assert {name: value for name, value in answer.headers.items() if name not in own} == {
        name: value for name, value in plain.headers.items() if name not in own
    }


async def test_a_link_ends_after_five_minutes(client, world):
    link = await link_to(world, client, world.id("lease"))
    path = urlsplit(link["downloadUrl"]).path
    links = world.gateway.services.entry.attachment_links
    opened = links.open(path.rpartition("/")[2])
    world.forget_calls()

    later = attachment_links.AttachmentLinks(
        links.keyring, links.base_url, lambda: opened.expires_ms
    )
    before = attachment_links.AttachmentLinks(
        links.keyring, links.base_url, lambda: opened.expires_ms - 1
    )

    assert before.open(path.rpartition("/")[2]) == opened
    with pytest.raises(attachment_links.InvalidLink):
        later.open(path.rpartition("/")[2])
    assert attachment_links.LIFETIME_MS == 300_000


@pytest.mark.parametrize("text", ["", "x", "a" * 9000, "%C3%BC"])
async def test_an_invalid_link_is_not_found(world, text):
    world.forget_calls()

    answer = await world.client().get(f"{attachment_links.PREFIX}{text}")

    assert (answer.status_code, answer.json()["error"]) == (404, "NOT_FOUND")
    assert world.calls() == []


async def test_a_changed_link_is_not_found(client, world):
    link = await link_to(world, client, world.id("lease"))
    path = urlsplit(link["downloadUrl"]).path
    other = "A" if path[-3] != "A" else "B"
    world.forget_calls()

    answer = await world.client().get(f"{path[:-3]}{other}{path[-2:]}")

    assert answer.status_code == 404
    assert world.calls() == []


async def test_a_link_ends_with_its_token(client, world):
    link = await link_to(world, client, world.id("lease"))
    path = urlsplit(link["downloadUrl"]).path
    token = await own_token(world, client)
    revoked = await world.admin.delete(f"/api/access-tokens/{token['id']}")
    assert revoked.status_code in {200, 204}
    world.forget_calls()

    answer = await world.client().get(path)

    assert answer.status_code == 401
    assert world.calls() == []


async def test_a_link_allows_no_more_than_its_token_does_now(client, world):
    link = await link_to(world, client, world.id("lease"))
    path = urlsplit(link["downloadUrl"]).path
    token = await own_token(world, client)
    narrowed = await world.admin.patch(
        f"/api/access-tokens/{token['id']}", json={"settings": {"visibleEmailFields": HIDING}}
    )
    assert narrowed.status_code == 200, narrowed.text
    world.forget_calls()

    answer = await world.client().get(path)

    assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.calls() == []
