"""Replies to and forwards of mail as real senders write it: what is sent, by its bytes."""

from email import message_from_bytes, policy

import pytest
import real_cases
import world as worlds
from world import api_id

RECEIVED_MS = 1_790_000_000_000


def add(world, name):
    """Put a message into the inbox; return its id."""
    stored = world.sandbox.state.mails.add(
        "provider-a", real_cases.raw(name), folder="inbox", received_ms=RECEIVED_MS
    )
    return api_id("provider-a", stored.immutable_id)


async def sent(world, client, name, action, body):
    """Reply to or forward a message; return what was sent."""
    url = f"{real_cases.MESSAGES}/{add(world, name)}/{action}"
    answer = await client.post(url, json=body)
    assert answer.status_code == 200, answer.text
    (mail,) = world.sent("provider-a")
    return message_from_bytes(mail.raw, policy=policy.default)


def text_of(message, kind="html"):
    return message.get_body((kind,)).get_content()


async def reply(world, client, name, body_type="text"):
    return await sent(world, client, name, "reply", {"body": "Hi", "bodyType": body_type})


async def forward(world, client, name):
    return await sent(world, client, name, "forward", {"to": [{"email": "bo@work.example"}]})


REFERENCES = {
    "r-irt": ["<root-1.mb2@sender.example>", "<r-irt.mb2@sender.example>"],
    "r-noat": ["<5f3e9b6c-20261008>"],
    "t1-b": ["<t1a@sender.example>", "<t1b@sender.example>"],
    "t3-a": ["<t3a@sender.example>"],
}


@pytest.mark.parametrize(("name", "references"), REFERENCES.items())
async def test_a_reply_names_what_the_original_names(world, client, name, references):
    message = await reply(world, client, name)

    assert message["References"].split() == references
    assert message["In-Reply-To"] == references[-1]


async def test_of_long_references_the_first_and_the_last_stay(world, client):
    message = await reply(world, client, "r-long-refs")

    ids = message["References"].split()
    assert ids[0] == "<0.long@sender.example>"
    assert ids[-2:] == ["<119.long@sender.example>", "<r-long-refs.mb2@sender.example>"]


RECIPIENTS = {
    "r-atname": ["attacker@evil.example"],
    "r-comma": ["john@sender.example"],
    "r-replyto-empty": ["ann@sender.example"],
    "r-replyto-self": ["ann@sender.example", "list@lists.example"],
}


@pytest.mark.parametrize(("name", "recipients"), RECIPIENTS.items())
async def test_a_reply_goes_to_the_address_in_the_brackets_alone(world, client, name, recipients):
    message = await reply(world, client, name)

    assert [address.addr_spec for address in message["To"].addresses] == recipients


async def test_the_attribution_names_the_address(world, client):
    message = await reply(world, client, "r-comma")

    assert "john@sender.example" in text_of(message, "plain")


async def test_a_quotation_refers_to_no_picture_that_is_not_sent(world, client):
    message = await reply(world, client, "r-cid", body_type="html")

    assert "See:" in text_of(message)
    assert "cid:" not in message.as_string()


async def test_html_quoted_as_text_keeps_its_lines(world, client):
    message = await reply(world, client, "r-html2text")

    quoted = ["First paragraph.", "Second paragraph.", "one", "two", "Invoice no. 5", "Last line"]
    lines = text_of(message, "plain").splitlines()
    assert [line.removeprefix("> ") for line in lines if line.startswith("> ")] == quoted


async def test_a_prefix_is_not_doubled(world, client):
    assert (await reply(world, client, "r-reprefix"))["Subject"] == "RE : offre"


async def test_a_forward_has_all_texts(world, client):
    message = await forward(world, client, "f-two")

    text = message.get_body(("plain", "html")).get_content()
    assert "First text." in text
    assert "the price is 42" in text
    assert [file.get_filename() for file in message.iter_attachments()] == ["plan.pdf"]


async def test_a_forward_has_the_calendar_part(world, client):
    message = await forward(world, client, "f-cal")

    (file,) = message.iter_attachments()
    assert file.get_content_type() == "text/calendar"
    assert b"METHOD:REQUEST" in file.get_payload(decode=True)


async def test_a_forwarded_file_keeps_its_long_name(world, client):
    (original,) = message_from_bytes(
        real_cases.raw("f-long"), policy=policy.default
    ).iter_attachments()

    (file,) = (await forward(world, client, "f-long")).iter_attachments()
    assert file.get_filename() == original.get_filename()
    assert len(original.get_filename()) > 100


async def test_the_picture_of_a_forward_is_referred_to(world, client):
    message = await forward(world, client, "r-cid")

    (file,) = message.iter_attachments()
    assert file["Content-ID"] == "<logo1@sender>"
    assert "cid:logo1@sender" in text_of(message)


async def test_a_forward_has_the_signature(world, client):
    message = await forward(world, client, "f-signed")

    assert [file.get_content_type() for file in message.iter_attachments()] == [
        "application/pkcs7-signature"
    ]


@pytest.mark.parametrize("name", ["f-rfc822-8bit", "f-rfc822-b64"])
async def test_an_attached_mail_goes_on_decoded(world, client, name):
    if name == "f-rfc822-b64" and worlds.CODES["PROVIDER_A"] != "IMAP":
        pytest.skip("asked of IMAP alone")
    message = await forward(world, client, name)

    (file,) = message.iter_attachments()
    assert file["Content-Transfer-Encoding"] in ("7bit", "8bit")
    inner = file.get_content()
    assert inner["From"] is not None
    assert inner["Subject"] is not None
