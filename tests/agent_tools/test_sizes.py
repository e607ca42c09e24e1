"""What agents read stays small: a token is reckoned as four characters."""

import json

import pytest
import world as worlds
from agent_client import ASSISTANT, Agent, text_of, tokens

PLACES = ("Bergen", "Lübeck", "Genoa", "Porto", "Gdańsk", "Cork", "Turku", "Malmö")
SENTENCE = (
    "The yard has moved the date because the {0} planks are late, and asks whether we agree. "
)
STYLE = "".join(
    f".c{n} td{{padding:{n}px 0;font:400 14px/1.5 Arial,sans-serif;color:#{n:06x}}}\n"
    for n in range(250)
)


def article(number):
    place = PLACES[number % len(PLACES)]
    link = f"https://news.example/c/{number}?u={'0123456789abcdef' * 16}"
    return (
        f'<tr><td class="c{number}" align="left" valign="top" style="padding:0 24px 24px 24px;'
        'font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px;color:#333333">'
        '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">'
        f'<tr><td><img src="https://img.example/{number}.jpg?w=1200&amp;s={"ab" * 60}" '
        f'width="552" alt="A boat in {place}" style="display:block;width:100%"></td></tr>'
        f"<tr><td><h2>Headline {number} from {place}</h2></td></tr>"
        f'<tr><td><p>{SENTENCE.format(place)}</p></td></tr><tr><td><a href="{link}" '
        f'style="background:#005f99;color:#ffffff;padding:12px">Read on</a></td></tr>'
        "</table></td></tr>"
    )


NEWSLETTER = (
    "<html><head><style>" + STYLE + "</style></head><body>"
    '<div style="display:none;max-height:0">Preheader &zwnj;&nbsp;'
    + "&zwnj;&nbsp;"
    * 300
    + "</div>"
    '<table width="600">' + "".join(map(article, range(75))) + "</table></body></html>"
)


def add(world, subject, text, *, html=False, at="2026-11-19T10:00:00"):
    """Put a message into the mailbox; return its API id."""
    message = worlds.mail("x", worlds.ANA, worlds.ME_A, subject, text, at=at, html=html)
    stored = world.sandbox.state.mails.add("provider-a", message.raw, folder="inbox")
    return worlds.api_id("provider-a", stored.immutable_id)


async def test_a_newsletter_of_100_kb_is_2_000_tokens(world, client):
    assert 100_000 < len(NEWSLETTER) < 120_000
    email_id = add(world, "The letter", NEWSLETTER, html=True)

    text = text_of(await Agent(client).call("read_mail", id=email_id))

    assert len(text) / 4 <= 2_000
    assert "Headline 0 from Bergen" in text
    assert "Headline 30 from Turku" in text
    assert "Preheader" not in text


@pytest.mark.caller(**{**ASSISTANT, "writes": "effect"})
async def test_a_triage_of_twenty_mails_is_6_000_tokens(world, client):
    """List, read five and draft two, with what is sent, the list of tools and the effects."""
    for number in range(20):
        text = (
            "Dear Nora,\n\n" + SENTENCE.format(PLACES[number % 8]) * 6 + "\n\nAll the best\nAna\n"
        )
        add(world, f"Planks, part {number}", text, at=f"2026-11-20T{number:02}:00:00")
    agent = Agent(client)
    size = tokens(await agent.tools())

    async def call(name, **arguments):
        nonlocal size
        text = text_of(await agent.call(name, **arguments))
        size += (len(json.dumps({"name": name, "arguments": arguments})) + len(text)) / 4
        return text

    listed = await call("find_mail", limit=20)
    mails = json.loads(listed.split("\n")[2])["emails"]
    assert len(mails) == 20
    for mail in mails[:5]:
        assert "planks are late" in await call("read_mail", id=mail["id"])
    for mail in mails[:2]:
        reply = {"action": "reply", "id": mail["id"], "body": "Thank you, the new date is fine."}
        shown = await call("draft_mail", **reply)
        done = await call("draft_mail", **reply, confirm=shown.rpartition("confirm: ")[2])
        assert json.loads(done)["held"] == "draft"

    print(f"{size:.0f} tokens")  # noqa: T201
    assert size <= 6_000
