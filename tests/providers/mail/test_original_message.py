"""Raw messages that are forwarded, as other parsers of mail read them."""

import pytest
import real_cases

from providers.mail import original_message

ROWS = {
    "hdr-space-colon": ("Blank before", "ann@sender.example"),
    "hdr-exch": ("Value on the next line", "ann@sender.example"),
    "hdr-ff-from": ("Invoice\x0cFrom: Bank <ceo@bank.example>", "ann@sender.example"),
    "hdr-dup-subject": ("first one", "ann@sender.example"),
    "ad-at-name": ("case ad-at-name", "attacker@evil.example"),
    "ew-lang": ("Café menu", "k@sender.example"),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_headers_of_an_original_are_read(name):
    email, _ = original_message.parse(real_cases.raw(name), "IMAP")

    assert (email.subject, email.from_.email) == ROWS[name]
    assert email.body.strip() == "x"


def test_a_bare_carriage_return_begins_no_header():
    raw = b"Subject: a\rFrom: ceo@bank.example\r\nFrom: ann@sender.example\r\n\r\nx"
    email, _ = original_message.parse(raw, "IMAP")

    assert email.from_.email == "ann@sender.example"


def test_repeated_recipients_are_joined():
    raw = b"To: a@x.example\r\nTo: b@x.example\r\n\r\nx"
    email, _ = original_message.parse(raw, "IMAP")

    assert [person.email for person in email.to] == ["a@x.example", "b@x.example"]
