"""Address headers as people write them: docs/spec/email.md#addresses."""

import random
import re

import pytest

from providers.mail import addresses

ROWS = {
    # Brackets in a quotation are characters of the name (RFC 5322, 3.2.4).
    '"<b>Ada & Sons</b>" <ada@sons.example>': [("<b>Ada & Sons</b>", "ada@sons.example")],
    # What stands in the brackets is the address (RFC 5322, 3.4).
    "ceo@bank.example <attacker@evil.example>": [("ceo@bank.example", "attacker@evil.example")],
    '"ceo@bank.example" <attacker@evil.example>': [("ceo@bank.example", "attacker@evil.example")],
    '"ceo@bank.example" attacker@evil.example': [("ceo@bank.example", "attacker@evil.example")],
    "=?utf-8?q?ceo=40bank.example?= <e@evil.example>": [("ceo@bank.example", "e@evil.example")],
    "ceo@bank.example\u2028<attacker@evil.example>": [
        ("ceo@bank.example", "attacker@evil.example")
    ],
    "<ceo@bank.example> <attacker@evil.example>": [(None, "attacker@evil.example")],
    # Commas in names.
    "Doe, John <john@work.example>": [("Doe, John", "john@work.example")],
    "=?utf-8?Q?Doe,_John?= <john@work.example>": [("Doe, John", "john@work.example")],
    "Mueller, A., Dr. <a@work.example>, b@work.example": [
        ("Mueller, A., Dr.", "a@work.example"),
        (None, "b@work.example"),
    ],
    "a@work.example (Doe, John)": [("Doe, John", "a@work.example")],
    # Entries without @.
    "root": [],
    "undisclosed-recipients:;": [],
    "MAILER-DAEMON <>": [],
    "a@work.example,, b@work.example,": [(None, "a@work.example"), (None, "b@work.example")],
    # Lists and groups.
    "a@work.example; b@work.example": [(None, "a@work.example"), (None, "b@work.example")],
    'Team: a@work.example, "B, C" <b@work.example>;, d@work.example': [
        (None, "a@work.example"),
        ("B, C", "b@work.example"),
        (None, "d@work.example"),
    ],
    # Encoded words.
    "=?utf-8?Q?J=C3=B6rg_=3Cjorg=40work.example=3E?=": [("Jörg", "jorg@work.example")],
    "=?utf-8?Q?jo=40work.example?=": [(None, "jo@work.example")],
    '"=?utf-8?Q?J=C3=B6rg=2C_M?=" <j@work.example>': [("Jörg, M", "j@work.example")],
    "=?utf-8?Q?a@b.example,_John?= <j@work.example>": [("a@b.example, John", "j@work.example")],
    # Not closed, or closed by another sign.
    "111(aaa）<bb@work.example>": [("111(aaa）", "bb@work.example")],
    '"Jane <jane@work.example>': [("Jane", "jane@work.example")],
    "Foo <foo@work.example, Bar <bar@work.example>": [
        ("Foo", "foo@work.example"),
        ("Bar", "bar@work.example"),
    ],
    # Obsolete and odd forms of addresses.
    "Foo <@one.example,@two.example:u@work.example>": [("Foo", "u@work.example")],
    "a @ work.example": [(None, "a@work.example")],
    "Ann <'ann@work.example'>": [("Ann", "ann@work.example")],
    "<mailto:ann@work.example>": [(None, "ann@work.example")],
    '"john doe"@work.example': [(None, '"john doe"@work.example')],
    "user@[IPv6:::1]": [(None, "user@[IPv6:::1]")],
    "John Doe john@work.example": [("John Doe", "john@work.example")],
    '"Dr\\", Watson" <dr@work.example>': [('Dr", Watson', "dr@work.example")],
    "Support 24:7 <s@work.example>": [("Support 24:7", "s@work.example")],
    "Ann (x (y) z) <a@work.example>": [("Ann", "a@work.example")],
    "Foo <<a@work.example>>": [("Foo", "a@work.example")],
    # zbateson/mail-mime-parser#224, GOVCERT-LU/eml_parser#41, SpamScope/mail-parser#146
    '"\'Test Recipient\'" <"success1"@work.example>, '
    '"\'\\"\\\\\\"Test, Recipient\\\\\\"\\"\'" <success5@work.example>,': [
        ("'Test Recipient'", '"success1"@work.example'),
        ('\'"\\"Test, Recipient\\""\'', "success5@work.example"),
    ],
    "         John Doe.<john@work.example>": [("John Doe.", "john@work.example")],
    ". Doe <jxd@work.example>": [(". Doe", "jxd@work.example")],
    "=?iso-8859-1?Q?Last=DFlName=2C_FirstName?= <c@work.example>": [
        ("LastßlName, FirstName", "c@work.example")
    ],
    # Blanks between words are one (RFC 5322, 3.2.2); other spaces are characters.
    "Ann\tLee \t <a@work.example>": [("Ann Lee", "a@work.example")],
    "Ann\tLee (x) <a@work.example>": [("Ann Lee", "a@work.example")],
    "高橋\u3000花子 <a@work.example>": [("高橋\u3000花子", "a@work.example")],
    "高橋\u3000花子 (x) <a@work.example>": [("高橋\u3000花子", "a@work.example")],
}


@pytest.mark.parametrize(("header", "mailboxes"), ROWS.items())
def test_the_mailboxes_of_a_header_are_read(header, mailboxes):
    assert [(person.name, person.email) for person in addresses.parse(header)] == mailboxes


PIECES = (
    *("a@b.example", "<a@b.example>", "'c@d.example'", "<mailto:e@f.example>", "a @ b.example"),
    *("Ada", "Bo Lee", "o'n@x.example", "=?utf-8?q?x,y?=", "=?utf-8?q?a@b.c?=", "[1.2.3.4]"),
    *'<>"(),;:\\ @\t.=\u3000',
    *("=?", "?="),
)


def test_usual_entries_are_read_as_the_scanner_reads_all(monkeypatch):
    seeded = random.Random(5)
    headers = [
        "".join(
            seeded.choice(PIECES) + seeded.choice(("", " ")) for _ in range(seeded.randint(1, 9))
        )
        for _ in range(5_000)
    ]
    expected = [addresses.parse(header) for header in headers]
    addresses._parse_cached.cache_clear()
    monkeypatch.setattr(addresses, "_USUAL", re.compile(r"(?!)"))

    assert [addresses.parse(header) for header in headers] == expected
    addresses._parse_cached.cache_clear()


def test_an_unusual_entry_does_not_shorten_a_long_list():
    header = "Doe, John <j@work.example>, " + "a@work.example, " * 5_000

    assert len(addresses.parse(header)) == 5_001
