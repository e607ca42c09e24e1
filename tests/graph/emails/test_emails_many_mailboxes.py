"""A search over many mailboxes: its page tokens stay short, and its pages hold every mail once."""

import base64
import hashlib

import pytest

from gateway.secrets.keyring import Keyring
from graph.page_tokens import MAX_LENGTH
from providers.failures import Broken
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPosition, MailSlice

PAGE = """query ($token: String, $limit: Int = 50) {
    emails(pageToken: $token, limit: $limit) {
        emails { id } totalCount hasMore nextPageToken authWarnings
    }
}"""
PREFIXES = {"PROVIDER_A": "providerA:", "PROVIDER_B": "providerB:"}


def native(provider, mailbox, place):
    """An id as long as the provider makes them, 16 or 152 characters, and like no other."""
    digest = hashlib.shake_256(f"{mailbox}/{place}".encode()).digest(114)
    if provider == "PROVIDER_A":
        return digest[:8].hex()
    return base64.urlsafe_b64encode(digest).decode()


@pytest.fixture
def inhabit(world, mailbox, email):
    """Give the world *count* mailboxes of both providers; *mails* each, three in a minute."""
    world.sealer = Keyring(["a secret that is long enough for a ring"])

    def run(count, mails):
        world.connections, world.mailboxes = [], {}
        for number in range(30_001, 30_001 + count):
            provider = list(PREFIXES)[number % 2]
            world.connections.append(
                ConnectionInfo(
                    id=number,
                    resource_id=1,
                    kind="email",
                    provider=provider,
                    account_email=f"me{number}@example.com",
                )
            )
            emails = [
                email(native(provider, number, place), place // 3, provider=provider)
                for place in range(mails)
            ]
            world.mailboxes[number] = mailbox(emails)

    return run


async def page(ask, token=None, **variables):
    status, body = await ask(PAGE, {"token": token, **variables})
    assert status == 200
    assert "errors" not in body, body["errors"]
    return body["data"]["emails"]


async def walk(ask, between=lambda pages: None):
    """Read all pages; *between* is called after each with their number."""
    pages, token = [], None
    while not pages or pages[-1]["hasMore"]:
        pages.append(await page(ask, token))
        between(len(pages))
        token = pages[-1]["nextPageToken"]
    return pages


def ids(pages):
    return [email["id"] for page in pages for email in page["emails"]]


def in_order(world):
    """The ids of everything there is, newest first."""
    everything = [email for mailbox in world.mailboxes.values() for email in mailbox.emails]
    ranked = sorted(
        (world.now - email.received_at, PREFIXES[email.provider] + email.id) for email in everything
    )
    return [name for _, name in ranked]


async def test_fifty_mailboxes_are_read_to_the_end_once_and_in_order(ask, world, inhabit):
    inhabit(50, 7)

    pages = await walk(ask)

    assert ids(pages) == in_order(world)
    assert [len(page["emails"]) for page in pages] == [50] * 7
    assert [page["totalCount"] for page in pages] == [350] * 7
    assert max(len(page["nextPageToken"] or "") for page in pages) <= MAX_LENGTH


async def test_mailboxes_that_fail_on_different_pages_neither_lose_nor_repeat_messages(
    ask, world, inhabit
):
    inhabit(50, 7)
    everything = in_order(world)
    mailboxes = list(world.mailboxes.values())

    def fail_one_more(read):
        for at, failing in enumerate(mailboxes[:5]):
            failing.failure = Broken() if at < read < 6 else None

    pages = await walk(ask, fail_one_more)

    assert sorted(ids(pages)) == sorted(everything)
    assert [len(page["authWarnings"] or ()) for page in pages[:7]] == [0, 1, 2, 3, 4, 5, 0]


async def test_a_mailbox_that_fails_for_one_page_continues_at_its_position(ask, world, inhabit):
    inhabit(3, 60)
    first = await page(ask)
    lost, *others = world.connections
    world.connections = others
    second = await page(ask, first["nextPageToken"])
    world.connections = [lost, *others]

    rest = [await page(ask, second["nextPageToken"])]
    while rest[-1]["hasMore"]:
        rest.append(await page(ask, rest[-1]["nextPageToken"]))

    assert sorted(ids([first, second, *rest])) == sorted(in_order(world))


async def test_positions_too_long_for_a_token_are_an_error_and_the_page_can_be_repeated(
    ask, world, inhabit
):
    inhabit(40, 2)
    everything = in_order(world)
    mailboxes = list(world.mailboxes.values())
    pages, token, error = [], None, None
    for failing in range(1, 40):
        _, body = await ask(PAGE, {"token": token, "limit": 1})
        if "errors" in body:
            error = body["errors"][0]["extensions"]["code"]
            break
        pages.append(body["data"]["emails"])
        token = pages[-1]["nextPageToken"]
        mailboxes[failing].failure = Broken()
    for mailbox in mailboxes:
        mailbox.failure = None

    pages.append(await page(ask, token))
    while pages[-1]["hasMore"]:
        pages.append(await page(ask, pages[-1]["nextPageToken"]))

    assert error == "PROVIDER_ERROR"
    assert sorted(ids(pages)) == sorted(everything)


async def test_positions_of_a_hundred_mailboxes_fit_in_a_token(ask, world, inhabit):
    inhabit(100, 1)
    for at, account in enumerate(world.mailboxes.values()):
        account.emails = account.emails[:1] if at == 0 else []
        account.search = scanning(account, MailPosition(10**12 + at, "~"))

    first = await page(ask, limit=1)
    second = await page(ask, first["nextPageToken"])

    assert [len(first["emails"]), len(second["emails"])] == [1, 0]
    assert 3000 < len(first["nextPageToken"]) <= MAX_LENGTH
    assert len(second["nextPageToken"]) <= MAX_LENGTH


def scanning(mailbox, scanned_to):
    """A search that finds what is there, reads far beyond it, and promises ten million more."""

    async def search(_query, *, after, projection):
        del projection
        return MailSlice(
            emails=tuple(mailbox.emails) if after is None else (),
            scanned_to=scanned_to,
            exhausted=False,
            total=10_000_000,
            total_exact=False,
        )

    return search


async def test_more_than_a_hundred_mailboxes_are_refused_before_any_upstream_call(
    ask, world, inhabit
):
    inhabit(101, 1)

    status, body = await ask(PAGE)

    assert (status, body["data"]) == (200, {"emails": None})
    (error,) = body["errors"]
    assert error["message"] == (
        "A search covers at most 100 mailboxes, and this token has 101; "
        "allowedConnectionIds chooses among them."
    )
    assert error["extensions"] == {"code": "MAILBOX_LIMIT", "httpStatus": 422, "requestId": "req-1"}
    assert [mailbox.calls for mailbox in world.mailboxes.values()] == [[]] * 101


async def test_a_token_with_more_mailboxes_may_be_narrowed_to_a_hundred(ask, world, inhabit):
    inhabit(101, 1)
    world.settings["allowedConnectionIds"] = [connection.id for connection in world.connections[1:]]

    assert (await page(ask))["totalCount"] == 100


async def test_an_id_too_long_for_a_token_is_a_provider_error(ask, world, email):
    world.mailboxes[1].emails = [email("x" * 4000, 1), email("y" * 4000, 2)]

    status, body = await ask(PAGE, {"limit": 1})

    assert (status, body["data"]) == (200, {"emails": None})
    (error,) = body["errors"]
    assert error["message"] == "The position of the next page is too long for a page token."
    assert error["extensions"] == {
        "code": "PROVIDER_ERROR",
        "httpStatus": 502,
        "requestId": "req-1",
    }
