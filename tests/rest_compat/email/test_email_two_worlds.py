"""
Mail of both providers that differs in what is hidden alone cannot be told apart.

Answers are compared to the byte, page by page to the end, and so are the calls upstream.
"""

from dataclasses import replace
from email.message import EmailMessage
from itertools import count

import httpx
import pytest
from world import ORIGIN, api_id

from policy.vocabulary import EmailField

EMAIL = "/api/access/email"
ADDRESSES = count(1)
USUAL = {
    "From": "Ann <ann@north.example>",
    "To": "Bo <bo@work.example>",
    "Cc": "Cy <cy@work.example>",
    "Bcc": "Di <di@work.example>",
    "Subject": "The lease",
    "Date": "Mon, 02 Nov 2026 12:00:00 +0000",
    "text": "Toast with jam.",
    "file": "plan.pdf",
}
AMBER = "Amber <amber@else.example>"
# What is hidden -> what is different of the mails then.
OTHER = {
    (EmailField.SUBJECT,): {"Subject": "Amber"},
    (EmailField.FROM,): {"From": AMBER},
    (EmailField.TO,): {"To": AMBER},
    (EmailField.CC,): {"Cc": AMBER},
    (EmailField.BCC,): {"Bcc": AMBER},
    (EmailField.BODY, EmailField.BODY_PREVIEW): {"text": "An amber light, longer."},
    (EmailField.SENT_AT,): {"Date": "Sun, 01 Nov 2026 09:00:00 +0000"},
    (EmailField.ATTACHMENTS,): {"file": "amber.pdf"},
    (EmailField.IMPORTANCE,): {"Importance": "high"},
    (EmailField.LABELS,): {"labels": ("Amber", "More")},
}
QUESTIONS = (
    "limit=3",
    "includeBody=true",
    "q=lease&limit=4",
    "q=amber&limit=2",
    "q=jam&limit=4",
    "from=ann@north.example&limit=4",
    "from=amber&limit=1",
    "to=amber@else.example&limit=1",
    "to=work.example&limit=4",
    "subject=amber&limit=1",
    "subject=lease&limit=4",
    "label=amber&limit=1",
    "hasAttachment=true&limit=4",
    "unread=true&before=2026-11-30&limit=4",
)


def raw(number, **other):
    headers = {**USUAL, "Message-ID": f"<{number}@north.example>", **other}
    message = EmailMessage()
    text, file = headers.pop("text"), headers.pop("file")
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename=file)
    message.set_boundary("same")
    return message.as_bytes()


@pytest.fixture
def letters(world):
    """Three unread letters in a thread of each mailbox, an hour apart."""
    mails = world.sandbox.state.mails
    return [
        mails.add(
            mailbox,
            raw(number),
            folder="inbox",
            labels=("Home",),
            received_ms=1793534400000 + number * 3600000,
            thread_id=f"{number:016x}" if mailbox == "provider-a" else None,
        )
        for mailbox in ("provider-a", "provider-b")
        for number in range(3)
    ]


def change(world, letters, other):
    """Write other letters in the places of these."""
    mails = world.sandbox.state.mails
    more = dict(other)
    labels = more.pop("labels", None)
    for number, letter in enumerate(letters):
        written = replace(letter, raw=raw(number % 3, **more), labels=labels or letter.labels)
        mails._index_mails(letter.mailbox, [written])


async def get(world, token, path):
    """Read a path from an address of its own, so that it meets no address's limit."""
    address = (f"10.2.{next(ADDRESSES) // 250}.{next(ADDRESSES) % 250}", 50_000)
    transport = httpx.ASGITransport(world.gateway, client=address)
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        headers = {"authorization": f"Bearer {token}", "x-request-id": "same"}
        answer = await client.get(f"{EMAIL}/{path}", headers=headers)
    assert answer.status_code in {200, 403}, answer.text
    return answer.json()


async def answers(world, letters, token):
    """Return the bodies of all reads, without page tokens, and the upstream calls."""
    world.forget_calls()
    responses = []
    for question in QUESTIONS:
        after = ""
        while after is not None:
            body = await get(world, token, f"messages?{question}&pageToken={after}")
            after = body.pop("nextPageToken", None)
            responses.append((question, body))
    for letter in letters:
        responses += [
            await get(world, token, f"messages/{api_id(letter.mailbox, letter.immutable_id)}"),
            await get(world, token, f"threads/{api_id(letter.mailbox, letter.thread_id)}"),
        ]
    calls = [(call["method"], call["path"], sorted(call["query"])) for call in world.calls()]
    return responses, sorted(calls)


@pytest.mark.slow  # tests/graph/emails/test_emails_two_worlds.py is the fast one
@pytest.mark.parametrize("hidden", OTHER, ids=" ".join)
async def test_a_hidden_value_changes_neither_answers_nor_calls(world, letters, hidden):
    shown = [word.value for word in EmailField if word not in hidden]
    token = await world.token({"visibleEmailFields": shown})
    whole = await world.token({})
    for question in ("label=amber", "limit=3"):  # the first ones look up labels and folders
        await get(world, token, f"messages?{question}")
    before = await answers(world, letters, token)
    seen = await get(world, whole, "messages?includeBody=true")

    change(world, letters, OTHER[hidden])

    assert before == await answers(world, letters, token)
    assert seen != await get(world, whole, "messages?includeBody=true")


@pytest.mark.slow
@pytest.mark.parametrize("hidden", OTHER, ids=" ".join)
async def test_a_value_that_one_account_hides_changes_neither(world, letters, hidden):
    shown = [word.value for word in EmailField if word not in hidden]
    narrowed = {str(world.connections["PROVIDER_A"]): {"visibleEmailFields": shown}}
    token = await world.token({"accounts": narrowed})
    for question in ("label=amber", "limit=3"):  # the first ones look up labels and folders
        await get(world, token, f"messages?{question}")
    before = await answers(world, letters, token)
    change(world, letters[:3], OTHER[hidden])
    assert await answers(world, letters, token) == before
    change(world, letters[3:], OTHER[hidden])
    assert await answers(world, letters, token) != before
