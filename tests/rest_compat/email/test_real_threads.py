"""Threads of own servers, whose messages name each other in odd ways."""

import pytest
import real_cases
import world as worlds
from world import api_id

THREADS = "/api/access/email/threads"
CASES = real_cases.cases("thread")
RECEIVED_MS = 1_790_000_000_000


def plain(message_id, **headers):
    """A message with these headers; a name with `_` stands for one with `-`."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    text = "\r\n".join(["From: a@x.example", "Subject: Re: same", f"Message-ID: {message_id}"])
    return "\r\n".join([text, *lines, "", "x", ""]).encode()


ROWS = {name: [real_cases.raw(file) for file in case["files"]] for name, case in CASES.items()}
ROWS |= {
    "a chain of parents alone": [
        plain("<1@x>"),
        plain("<2@x>", In_Reply_To="<1@x>"),
        plain("<3@x>", In_Reply_To="<2@x>"),
        plain("<4@x>", In_Reply_To="<3@x> (note)"),
    ],
    "a parent with References": [
        plain("<5@x>"),
        plain("<6@x>", References="<5@x>"),
        plain("<7@x>", References="<5@x> <6@x>"),
        plain("<8@x>", In_Reply_To="<7@x>"),
    ],
    "an identifier with a blank": [plain("<9 a@x>"), plain("<10@x>", In_Reply_To="<9 a@x>")],
    "an identifier without @": [plain("<11>"), plain("<12@x>", References="<11>")],
}


@pytest.mark.parametrize("raws", ROWS.values(), ids=ROWS)
async def test_messages_that_name_each_other_are_one_thread(world, client, raws):
    if worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    ids = []
    for number, raw in enumerate(raws):
        stored = world.sandbox.state.mails.add(
            "provider-a", raw, folder="inbox", received_ms=RECEIVED_MS + 60_000 * number
        )
        ids.append(api_id("provider-a", stored.immutable_id))

    emails = [(await client.get(f"{real_cases.MESSAGES}/{email_id}")).json() for email_id in ids]
    threads = {email["threadId"] for email in emails}
    assert len(threads) == 1
    thread = (await client.get(f"{THREADS}/{threads.pop()}")).json()
    assert [email["id"] for email in thread["messages"]] == ids
    listed = (await client.get(real_cases.MESSAGES)).json()["emails"]
    assert {email["threadId"] for email in listed if email["id"] in ids} == {thread["id"]}


async def test_a_subject_alone_joins_nothing(world, client):
    if worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    for raw in (plain("<1@x>"), plain("<2@x>", In_Reply_To="<0@x>")):
        world.sandbox.state.mails.add("provider-a", raw, folder="inbox", received_ms=RECEIVED_MS)

    listed = (await client.get(real_cases.MESSAGES, params={"subject": "same"})).json()["emails"]
    assert len({email["threadId"] for email in listed}) == 2
