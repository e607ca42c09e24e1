"""Page tokens are bound to token, route and filters, and die after a day."""

from datetime import timedelta

import pytest

LIST = """query ($subject: String, $unread: Boolean, $token: String, $limit: Int = 1,
                 $includeBody: Boolean) {
    emails(subject: $subject, unread: $unread, pageToken: $token, limit: $limit,
           includeBody: $includeBody) { emails { id } nextPageToken }
}"""


async def first_token(ask, **variables):
    _, body = await ask(LIST, variables)
    return body["data"]["emails"]["nextPageToken"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"limit": 2}, id="another limit"),
        pytest.param({"includeBody": True}, id="with bodies"),
    ],
)
async def test_limit_and_bodies_may_change_between_pages(ask, change):
    token = await first_token(ask)

    _, body = await ask(LIST, {"token": token, **change})

    assert body["data"]["emails"]["emails"][0] == {"id": "providerB:b1"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"subject": "else"}, id="another filter"),
        pytest.param({"unread": True}, id="one filter more"),
    ],
)
async def test_a_token_of_another_list_is_refused(ask, world, change):
    token = await first_token(ask)
    calls = len(world.mailboxes[1].calls)

    _, body = await ask(LIST, {"token": token, **change})

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PAGE_TOKEN"
    assert body["errors"][0]["extensions"]["httpStatus"] == 400
    assert len(world.mailboxes[1].calls) == calls


async def test_a_page_token_of_another_access_token_is_refused(ask, world):
    token = await first_token(ask)
    world.token_id = 8

    _, body = await ask(LIST, {"token": token})

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PAGE_TOKEN"


@pytest.mark.parametrize(
    ("age", "works"),
    [
        (timedelta(hours=24), True),
        (timedelta(hours=24, seconds=1), False),
        (timedelta(seconds=-5), False),
    ],
)
async def test_it_lives_a_day(ask, world, age, works):
    token = await first_token(ask)
    world.now += age

    _, body = await ask(LIST, {"token": token})

    assert ("errors" not in body) is works


@pytest.mark.parametrize("token", ["x", "AAAA", "x" * 5000, "\x00", "é"])
async def test_a_malformed_page_token_is_refused(ask, token):
    _, body = await ask(LIST, {"token": token})

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PAGE_TOKEN"
    assert body["errors"][0]["message"] == "The pageToken is not valid for this request."


async def test_mail_that_arrives_between_pages_does_not_shift_the_next_page(ask, world, email):
    token = await first_token(ask)
    world.mailboxes[1].emails.append(email("a0", 0))

    _, body = await ask(LIST, {"token": token, "limit": 5})

    assert [email["id"] for email in body["data"]["emails"]["emails"]] == [
        "providerB:b1",
        "providerA:a2",
    ]
