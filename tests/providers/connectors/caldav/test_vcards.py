"""People in cards of vCard 3 and 4."""

import time
from contextlib import suppress

import pytest
from time_bounds import time_bound

from providers.connectors.caldav.contacts.vcards import MAX_LENGTH, Unreadable, people
from providers.connectors.caldav.multistatus import cards_body, parse_multistatus
from providers.records.mail import Participant

CARDS = {
    "vCard 3 with groups, folds and escapes": (
        r"item1.EMAIL;type=INTERNET;type=pref:dave@x.example|FN:Dave\, the|  Miller",
        [("dave@x.example", "Dave, the Miller")],
    ),
    "vCard 4 with several addresses": (
        "FN:Ana Müller|EMAIL;PREF=1:ana@x.example|email:ana@y.example|EMAIL:ana@x.example",
        [("ana@x.example", "Ana Müller"), ("ana@y.example", "Ana Müller")],
    ),
    "a name of parts": (
        r"FN:|N:de Vries\;x;Ana,Maria;B.;Dr.;MSc|EMAIL:a@x.example",
        [("a@x.example", "Dr. Ana Maria B. de Vries;x MSc")],
    ),
    "nicknames": (
        "FN:David Miller|NICKNAME:Dave,Davy|EMAIL:d@x.example",
        [("d@x.example", "David Miller (Dave, Davy)")],
    ),
    "only a nickname": ("NICKNAME:Dave|EMAIL:d@x.example", [("d@x.example", "(Dave)")]),
    "a colon in a parameter": (
        'FN;X="a:b";Y=c:Dave|EMAIL;X="mailto:no@x.example":d@x.example',
        [("d@x.example", "Dave")],
    ),
    "parameters without a name": (
        "FN:Dave|EMAIL;PREF;INTERNET:d@x.example",
        [("d@x.example", "Dave")],
    ),
    "what is not an address": ("FN:Dave|EMAIL:call him|EMAIL:a b@x.example|EMAIL:", []),
    "other properties": ("FN:Dave|X-EMAIL:no@x.example|NOTE:EMAIL:no@x.example", []),
    "no name": ("EMAIL:d@x.example", [("d@x.example", None)]),
}


def card(lines):
    return "\r\n".join(["BEGIN:VCARD", "VERSION:4.0", *lines.split("|"), "END:VCARD", ""])


@pytest.mark.parametrize(("lines", "expected"), CARDS.values(), ids=CARDS)
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_a_card_is_read(lines, expected, end):
    text = card(lines).replace("\r\n", end)

    assert people(text) == [Participant(email=email, name=name) for email, name in expected]


def test_cards_of_one_text_are_apart():
    text = card("FN:Dave|EMAIL:d@x.example") + card("EMAIL:a@x.example")

    assert [person.name for person in people(text)] == ["Dave", None]


@pytest.mark.parametrize("text", ["", "BEGIN:VCARD", "EMAIL:a@x.example\r\n", ":::", '"' * 99])
def test_what_is_no_card_has_nobody(text):
    assert people(text) == []


def test_a_photo_is_passed_over_and_a_long_text_refused():
    photo = "PHOTO;ENCODING=b:" + "A" * 70 + "|" + "| ".join(["", *["A" * 70] * 10_000])
    text = card(photo + "|FN:Dave|EMAIL:d@x.example")

    assert people(text) == [Participant(email="d@x.example", name="Dave")]
    for unreadable in ("x" * (MAX_LENGTH + 1), "FN:x\n" * 1001):
        with pytest.raises(Unreadable):
            people(unreadable)


@pytest.mark.parametrize(
    "piece", ['EMAIL;"', "EMAIL;", "N:;", "\r\n ", "NICKNAME:,\n", "EMAIL:a@b\n", "a.", "\\"]
)
def test_reading_a_long_text_holds_up_nothing(piece):
    text = "BEGIN:VCARD\n" + piece * (MAX_LENGTH // 2 // len(piece)) + "\nEND:VCARD\n"
    began = time.perf_counter()

    with suppress(Unreadable):
        people(text)

    assert time.perf_counter() - began < time_bound(0.1)


def test_a_query_names_each_property_and_escapes_the_word():
    body = cards_body(("FN", "EMAIL"), "a<&", most=5).decode()

    assert body.count("<A:prop-filter") == 2
    assert '<A:text-match collation="i;unicode-casemap">a&lt;&amp;</A:text-match>' in body
    assert "<A:nresults>5</A:nresults>" in body
    assert '<A:filter test="anyof"></A:filter>' in cards_body(("FN",), "", most=5).decode()


@pytest.mark.parametrize(
    ("status", "is_whole"), [("507 Insufficient Storage", False), ("404", True)]
)
def test_a_server_tells_that_it_left_out_results(status, is_whole):
    cut = f"<response><href>/b/</href><status>HTTP/1.1 {status}</status></response>"
    body = f'<multistatus xmlns="DAV:">{cut}</multistatus>'.encode()

    assert parse_multistatus(body, most=10) == ([], is_whole)
