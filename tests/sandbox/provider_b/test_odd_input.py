"""Provider B against odd input: no query and no letter may break the wire."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.provider_b.odata import filters
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.outlook_mail import search
from sandbox.provider_b.outlook_mail.messages import SHAPE

WORDS = """subject isRead receivedDateTime from/emailAddress/address categories/any(c:c c eq ne gt
    and or not in ( ) , 'a' 'it''s' 12 2026-01-01 2026-01-01T00:00:00Z null true contains(
    startswith( categories/any( : / $ ' " - foo"""
TERMS = """from: "from:a@x" received>= received>=2026-01-01 AND OR NOT ( ) - : " \\ lease size:1..2
    hasAttachments:true importance: *"""
RECORD = {
    "subject": "a",
    "isRead": True,
    "receivedDateTime": "2026-01-01T00:00:00Z",
    "from": {"emailAddress": {"address": "a@x"}},
    "categories": ["a"],
}
MAIL = search.Searchable(
    texts={"subject": " lease"},
    received="2026-01-01",
    sent="2026-01-01",
    has_attachments=False,
    importance="normal",
    size=1,
)


@given(st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join) | st.text(max_size=40))
def test_a_filter_is_answered_or_refused(text):
    with suppress(QueryError):
        filters.parse(text, SHAPE).matches(RECORD)


@given(st.lists(st.sampled_from(TERMS.split()), max_size=12).map(" ".join) | st.text(max_size=40))
def test_a_search_is_answered_or_refused(text):
    with suppress(QueryError):
        search.parse(f'"{text}"')(MAIL)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["or", "and"])
def test_a_long_filter_does_not_exhaust_the_stack(word):
    text = f" {word} ".join(["isRead eq true"] * 5000)

    assert filters.parse(text, SHAPE).matches(RECORD)


@pytest.mark.parametrize("text", ["(" * 300, "NOT " * 300, "-" * 300, "(a " * 60, "a OR " * 300])
def test_a_deep_search_is_refused(text):
    with pytest.raises(QueryError):
        search.parse(f'"{text}"')


ODD = {
    "nothing": b"",
    "a body alone": b"\r\n\r\nhello",
    "bytes that are no text": bytes(range(256)) * 3,
    "an unknown character set": b"Content-Type: text/plain; charset=x-none\r\n\r\nh\xe9",
    "a lone surrogate": b"Content-Type: text/html; charset=unicode_escape\r\n\r\n<p>\\ud800</p>",
    "a lone surrogate in a subject": b"Subject: =?utf-7?Q?+2AA-?=\r\n\r\nx",
    "a date far away": b"Date: Mon, 01 Jan 0001 00:00:00 +1400\r\n\r\nx",
    "a date that is none": b"Date: yesterday\r\n\r\nx",
    "people that are none": b"From: <<>>, @\r\nTo: undisclosed-recipients:;\r\nCc: ,,\r\n\r\nx",
    "a picture alone": b"Content-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\ncG5n",
    "a broken multipart": b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nx',
    "an attached letter": b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n'
    b"Content-Type: message/rfc822\r\n\r\nSubject: Inner\r\n\r\nhello\r\n--b--\r\n",
    "a message id that is none": b"Message-ID: x y\r\nReferences: <a\r\n\r\nx",
}


@pytest.mark.parametrize("label", ODD)
async def test_a_malformed_message_can_be_listed_found_and_answered(client, world, label):
    mail = world.mails.add("provider-b", ODD[label], folder="inbox")
    everything = {
        "$expand": "attachments",
        "$filter": "sentDateTime ge 0001-01-01T00:00:00Z or isRead eq false",
    }
    listed = await client.get("/me/messages", params=everything)
    text = await client.get(
        f"/me/messages/{mail.id}", headers={"Prefer": 'outlook.body-content-type="text"'}
    )
    searched = await client.get("/me/messages", params={"$search": '"hello"'})
    drafts = [
        await client.post(f"/me/messages/{mail.id}/{action}", json={"comment": "x"})
        for action in ("createReplyAll", "createForward")
    ]

    assert [message["id"] for message in listed.json()["value"]] == [mail.id]
    assert text.status_code == searched.status_code == 200
    assert [draft.status_code for draft in drafts] == [201, 201]


async def test_an_attached_letter_is_an_item_that_a_forward_keeps(client, world):
    mail = world.mails.add("provider-b", ODD["an attached letter"], folder="inbox")
    draft = await client.post(f"/me/messages/{mail.id}/createForward")
    found = (await client.get(f"/me/messages/{draft.json()['id']}/attachments")).json()["value"]

    assert [(message["@odata.type"], message["name"]) for message in found] == [
        ("#microsoft.graph.itemAttachment", "Inner")
    ]
