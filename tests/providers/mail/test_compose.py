"""Serialization of outgoing messages, and parsing of address and date headers."""

from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.utils import getaddresses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.mail import addresses, dates
from providers.mail.compose import AttachedFile, OutgoingMessage, addressable, serialize
from providers.ports.mail import UnsafeMessage
from providers.records.mail import Participant

BOB = Participant(email="bob@south.example")
HOSTILE = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from('\r\n\t =?_,;:<>()"\\@')), max_size=60
) | st.sampled_from(
    [
        "=?utf-8?q?x=0d=0aBcc:_eve@evil.example?=",
        "=?utf-8?b?DQpCY2M6IGV2ZUBldmlsLmV4YW1wbGU=?=",
        "Plan\r\nBcc: eve@evil.example",
        "Plan\nBcc: eve@evil.example",
        "a,b <eve@evil.example>",
        'x" <eve@evil.example>, "y',
        "(comment) x",
        "=?utf-8?q?half",
        "x" * 2000,
        "ü" * 500,
    ]
)


def outgoing(**members):
    defaults = {
        "sender": "me@north.example",
        "to": (BOB,),
        "subject": "Plan",
        "body": "x",
        "body_type": "text",
        "message_id": "a@gw.example",
    }
    return OutgoingMessage(**(defaults | members))


def serialized(message):
    return serialize(message).whole()


def read(raw):
    return message_from_bytes(raw, policy=policy.compat32)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_a_serialized_message_has_the_intended_headers_and_recipients_or_is_refused(
    subject, name, other
):
    people = (
        Participant(email="bob@south.example", name=name),
        Participant(email="carl@east.example", name=other),
    )
    try:
        raw = serialized(outgoing(subject=subject, to=people))
    except UnsafeMessage:
        return

    message = read(raw)
    assert message.keys() == [
        "MIME-Version",
        "Date",
        "Message-ID",
        "From",
        "To",
        "Subject",
        "Content-Type",
        "Content-Transfer-Encoding",
    ]
    assert [address for _, address in getaddresses([message["To"]])] == [
        "bob@south.example",
        "carl@east.example",
    ]
    assert str(make_header(decode_header(message["Subject"]))) == subject
    assert max(map(len, raw.split(b"\r\n"))) <= 998


@pytest.mark.parametrize(
    "address",
    [
        "a b@south.example",
        "bob@south.example>, <eve@evil.example",
        "bob@south.example\r\nBcc: eve@evil.example",
        "=?utf-8?q?x?=@south.example",
        "bob",
        "bob@",
        "@south.example",
        "böb@south.example",
        "b@" + "x" * 400,
    ],
)
def test_an_invalid_address_is_refused(address):
    with pytest.raises(UnsafeMessage):
        serialized(outgoing(to=(Participant(email=address),)))


def test_an_internationalised_domain_is_encoded_by_idna():
    raw = serialized(outgoing(to=(Participant(email="bob@bücher.example"),)))

    assert read(raw)["To"] == "bob@xn--bcher-kva.example"


def test_an_address_with_an_ip_literal_is_accepted():
    raw = serialized(outgoing(to=(Participant(email="root@[192.0.2.7]", name="Root"),)))

    assert getaddresses([read(raw)["To"]]) == [("Root", "root@[192.0.2.7]")]


def test_the_body_round_trips():
    body = "Grüße\n.\n\n  From here 😀\r\nend\n"

    message = read(serialized(outgoing(body=body)))

    assert message.get_payload(decode=True).decode() == body.replace("\r\n", "\n").replace(
        "\n", "\r\n"
    )


def test_a_lone_surrogate_in_the_body_is_refused():
    with pytest.raises(UnsafeMessage):
        serialized(outgoing(body="\ud800"))


def test_attachments_keep_their_names_types_and_bytes():
    files = (
        AttachedFile(name="größe.pdf", media_type="application/pdf", content=bytes(range(256))),
        AttachedFile(
            name='a"\r\nBcc: x', media_type="no type\r\n", content=b"x", content_id="a>\r\nb"
        ),
        AttachedFile(name="x" * 300 + ".png", media_type="image/png", content=b"", is_inline=True),
    )

    raw = serialized(outgoing(files=files))

    parts = read(raw).get_payload()[1:]
    assert [part.get_content_type() for part in parts] == [
        "application/pdf",
        "application/octet-stream",
        "image/png",
    ]
    assert parts[0].get_payload(decode=True) == bytes(range(256))
    assert [part.get_content_disposition() for part in parts] == [
        "attachment",
        "attachment",
        "inline",
    ]
    assert b"\r\nBcc" not in raw
    assert max(map(len, raw.split(b"\r\n"))) <= 998


def test_importance_sets_both_priority_headers():
    raw = read(serialized(outgoing(importance="high")))

    assert (raw["Importance"], raw["X-Priority"]) == ("high", "1")
    assert read(serialized(outgoing()))["Importance"] is None


def test_participants_without_a_valid_address_are_left_out():
    people = (
        Participant(email="/O=EXCHANGELABS/CN=x"),
        Participant(email="bob@south.example", name="Bob\x00"),
        Participant(email="carl@bücher.example"),
        Participant(email="cärl@bücher.example"),
        Participant(email="root@[192.0.2.7]"),
    )

    assert addressable(people) == [
        Participant(email="bob@south.example", name="Bob "),
        Participant(email="carl@bücher.example"),
        Participant(email="root@[192.0.2.7]"),
    ]


ADDRESSES = {
    "ann@x.example": [("", "ann@x.example")],
    "<ann@x.example>": [("", "ann@x.example")],
    "Ann Author <ann@x.example>": [("Ann Author", "ann@x.example")],
    '"Author, Ann" <ann@x.example>, bob@y.example': [
        ("Author, Ann", "ann@x.example"),
        ("", "bob@y.example"),
    ],
    "=?utf-8?q?Z=C3=BCrich=2C_Inc?= <z@x.example>": [("Zürich, Inc", "z@x.example")],
    '"a \\"b\\" c" <ann@x.example>': [('a "b" c', "ann@x.example")],
    "ann@x.example (Ann)": [("Ann", "ann@x.example")],
    "Team: ann@x.example, bob@y.example;": [("", "ann@x.example"), ("", "bob@y.example")],
    "": [],
    " , ": [],
    "undisclosed-recipients:;": [],
    '"a, b" <a@x.example>,, c@x.example': [("a, b", "a@x.example"), ("", "c@x.example")],
    ' "Ann"  <ann@x.example> , Bob B  <bob@y.example> ': [
        ("Ann", "ann@x.example"),
        ("Bob B", "bob@y.example"),
    ],
}
# Each header took minutes, or the whole stack, in an earlier address parser.
ENDLESS = {
    "blanks before a bracket": " " * 40_000 + "<",
    "blanks around a name": " " * 40_000 + '"a"' + " " * 40_000 + "x",
    "commas in an open quote": '"' + "," * 100_000,
    "comments in comments": "(" * 40_000,
}


@pytest.mark.parametrize(("header", "people"), ADDRESSES.items())
def test_an_address_header_is_parsed(header, people):
    participants = [(person.name or "", person.email) for person in addresses.parse(header)]

    assert participants == people


@pytest.mark.parametrize("header", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_long_header_without_addresses_is_parsed_in_linear_time(header):
    assert [person for person in addresses.parse(header) if "@" in person.email] == []


ENCODED = {
    "=?utf-8?q?Z=C3=BCrich?=": "Zürich",
    "Möte =?utf-8?q?i_dag=3F?=": "Möte i dag?",
    "日本 =?utf-8?q?x?= y": "日本 x y",
    "=?utf-8?b?8J+Y?= =?utf-8?b?gA==?=": "\U0001f600",
    "=?utf-7?q?+2AA-?=": "\ufffd",
    "=?unicode_escape?q?=5Cud800?=": "=?unicode_escape?q?=5Cud800?=",
    "=?nope?q?x?=": "=?nope?q?x?=",
}


@pytest.mark.parametrize(("header", "text"), ENCODED.items())
def test_encoded_words_are_decoded(header, text):
    assert addresses.decode_words(header) == text


@given(
    st.lists(
        st.tuples(
            st.text(alphabet="abc ÄÖ.-'", max_size=12).map(lambda text: " ".join(text.split())),
            st.from_regex(r"[a-z]{1,5}@[a-z]{1,5}\.example", fullmatch=True),
        ),
        max_size=4,
    )
)
def test_the_fast_address_parser_agrees_with_the_standard_library(people):
    header = ", ".join(f'"{name}" <{address}>' if name else address for name, address in people)

    participants = [(person.name or "", person.email) for person in addresses.parse(header)]

    assert participants == getaddresses([header] if header else [])


DATES = {
    "Mon, 02 Mar 2026 12:00:00 +0130": "2026-03-02T10:30:00+00:00",
    "2 Mar 2026 12:00:00 -0800 (PST)": "2026-03-02T20:00:00+00:00",
    "Mon, 2 Mar 2026 12:00:00 GMT": "2026-03-02T12:00:00+00:00",
    "Mon, 2 Mar 2026 12:00 +0000": "2026-03-02T12:00:00+00:00",
    "Mon, 2 Mar 2026 12:00:00 -0000": "2026-03-02T12:00:00+00:00",
    "Mon, 31 Feb 2026 12:00:00 +0000": None,
    "Mon, 1 Jan 0001 00:00:00 +2300": None,
    "yesterday": None,
    "": None,
}


@pytest.mark.parametrize(("header", "expected"), DATES.items())
def test_a_date_header_is_parsed(header, expected):
    time = dates.parse(header)

    assert (time.isoformat() if time else None) == expected


def test_a_byte_order_mark_at_the_start_is_sent_as_a_character():
    raw = serialize(
        OutgoingMessage(
            sender="me@north.example",
            to=[Participant(email="bo@work.example", name="\ufeffBo")],
            subject="\ufeffMinutes",
            body="b",
            body_type="text",
            message_id="a@gw.example",
        )
    ).whole()

    parsed = message_from_bytes(raw, policy=policy.default)
    assert parsed["subject"] == "\ufeffMinutes"
    assert parsed["to"].addresses[0].addr_spec == "bo@work.example"
