"""The odd mails of the demo's world are read as they were meant, in both mailboxes."""

import pytest
import pytest_asyncio
import real_cases
import world as worlds
from world import api_id

from sandbox.world.mail.texts import odd_mails

LONG = (
    "Protocol of the meeting of the friends of the old slipway on the question of who paints the "
    "crane and why, with remarks, second reading, as agreed on Friday evening in the loft after "
    "the soup, without the budget.pdf"
)
PDF = "application/pdf"
WANTED = {
    "gbk-html": {
        "subject": "朱漆与镕铁", "from.name": "陶喆", "body~": "<p>镕铁 – 喆</p><p>两桶朱漆</p>",
        "bodyPreview": "镕铁 – 喆 两桶朱漆", "sentAt": "2026-03-02T01:00:00Z",
    },
    "nec-sjis": {
        "subject": "①番の帆柱", "from.name": "髙橋", "body~": "①番㈱髙橋造船です。～",
        "sentAt": "2026-03-03T09:05:06Z",
    },
    "jis": {"subject": "田中", "body~": "試験と ①② OK", "sentAt": "2026-03-04T02:12:13Z"},
    "cyrillic": {
        "subject": "Цена паруса", "from.name": "Ирина", "body~": "Парус стоит 40 €, срок – май.",
        "sentAt": "2026-03-05T07:11:12Z",
    },
    "meta-only": {"bodyPreview": "Привет из гавани", "sentAt": "2026-03-05T09:00:00Z"},
    "greek": {
        "subject": "Άγκυρα", "from.name": "Νίκος", "body~": "Η άγκυρα είναι €120.",
        "sentAt": "2026-03-06T20:00:00Z",
    },
    "hebrew": {"subject": "שלום", "body~": "בוקר טוב מהנמל", "sentAt": "2026-03-07T13:00:00Z"},
    "arabic": {"subject": "السعر", "body~": "سعر الحبل 20", "sentAt": "2026-03-09T00:00:00Z"},
    "thai": {"subject": "ท่าเรือ", "body~": "ราคาเชือก “20”"},
    "smart-quotes": {"subject": "it’s € 12", "body~": "Price… it’s € 12"},
    "utf8-as-latin1": {"from.name": "Zoë Łuć", "body~": "Dirección — Dzień"},
    "no-semicolon": {"body~": "Zażółć gęślą jaźń"},
    "quoted-charset": {"body~": "Zażółć"},
    "half-broken-words": {"subject~": "Größe im März", "from.name": "Jörg"},
    "words-in-quotes": {"from.name": "Jörg, M", "to.emails": ["ME"]},
    "bank": {
        "from.email": "attacker@evil.example", "from.name": "ceo@bank.example", "to.emails": ["ME"],
    },
    "comma-names": {
        "from.email": "ann.berg@odd-letters.example",
        "to.emails": ["ME", "bo.berg@odd-letters.example"],
    },
    "semicolons": {
        "from.name": "Bo Berg", "to.emails": ["ME", "ann.berg@odd-letters.example"],
        "cc.emails": ["ann.berg@odd-letters.example", "bo.berg@odd-letters.example"],
    },
    "mailbox-in-a-word": {"from.email": "joerg@werft.example", "from.name": "Jörg"},
    "open-comment": {"from.email": "bo.berg@odd-letters.example", "to.emails": ["ME"]},
    "second-header": {
        "from.email": "ann.berg@odd-letters.example", "subject": "Value on the next line",
    },
    "text-file-text": {
        "body~": "only until Friday.", "att": [["price.pdf", PDF]], "hasAttachments": True,
    },
    "apple-split": {"body~": "call me", "att": [["invoice.pdf", PDF]], "hasAttachments": True},
    "empty-html": {"body~": "The words."},
    "named-only": {"body~": "It is the whole message."},
    "html-footer": {"body~": "We meet at nine."},
    "shown-and-unshown": {"att": [["pier.png", "image/png"], ["spare.png", "image/png"]]},
    "pdf-with-id": {"att": [["plan.pdf", PDF]], "hasAttachments": True},
    "attached-base64": {"body!": "Inner text.", "att": [["inner.eml", "message/rfc822"]]},
    "attached-unnamed": {"body!": "Inner text.", "hasAttachments": True},
    "invited": {"body~": "<p>You are invited.</p>"},
    "calendar-alone": {"subject": "Only a calendar"},
    "long-names": {"att.names": [LONG, f"{'n' * 251}.pdf", None, "Zöe.pdf"]},
    "padding-inside": {"body~": "Hello, this is the text."},
    "soft-edges": {"body~": "café 100= % 5=g end"},
    "style-and-script": {"bodyPreview": "Dear Reader, invoice 7"},
}  # fmt: skip
MAILBOXES = {"provider-a": worlds.ME_A, "provider-b": worlds.ME_B}
RECEIVED_MS = 1_790_000_000_000
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """Each mail as it is read by REST and by GraphQL, by mailbox and name."""
    folder = tmp_path_factory.mktemp("shared-odd")
    async with worlds.opened(*world_template, folder, rate_limits="off") as world:
        played = {}
        async with world.client(await world.token({})) as client:
            for box, me in MAILBOXES.items():
                for name, raw in odd_mails().items():
                    raw_to_me = raw.replace(b"me@odd.example", me.encode())
                    mail = world.sandbox.state.mails.add(
                        box, raw_to_me, folder="inbox", received_ms=RECEIVED_MS
                    )
                    email_id = api_id(box, mail.immutable_id)
                    played[box, name] = await real_cases.play(client, email_id)
        yield played


@session_loop
@pytest.mark.parametrize("box", MAILBOXES)
@pytest.mark.parametrize("name", WANTED)
async def test_it_is_read_as_it_was_meant(readings, name, box):
    by_rest, by_graphql = readings[box, name]
    wanted = {
        key: [MAILBOXES[box] if address == "ME" else address for address in value]
        if key.endswith(".emails")
        else value
        for key, value in WANTED[name].items()
    }

    assert real_cases.differences(wanted, by_rest) == {}
    assert real_cases.differences(wanted, by_graphql) == {}


def test_each_odd_mail_is_looked_at():
    assert set(WANTED) == set(odd_mails())
