"""The address that recipient rules compare is the address that is written: all code points."""

import os
from collections.abc import Iterable
from email.utils import getaddresses

import pytest

from graph.emails.problems import unsafe
from policy.recipients import RecipientRules, as_written, normalize
from providers.mail import addresses, compose
from providers.ports.mail import UnsafeMessage
from providers.records.mail import Participant

WORK = "bo@work.example"
# Positions of a character in an address; with an "o" or a dot, each is WORK.
POSITIONS = {
    "inside a label": "bo@w{}rk.example",
    "between labels": "bo@work{}example",
    "after the domain": "bo@work.example{}",
    "in the local part": "b{}@work.example",
    "in a quoted local part": '"b{}"@work.example',
}
MORE = range(0, 0x110000, 1 if os.environ.get("CODE_POINTS") == "all" else 37)
# Each kind of letter has members here; the other planes are searched in steps.
COARSE = [*range(0x250), *range(0x1D00, 0x2200), *range(0xFF00, 0x10000), *range(0, 0x110000, 331)]


def mailbox_of(address: str) -> str:
    """Return the mailbox that a mail system delivers to, without case, quotes, tag, final dot."""
    local, _, host = address.rpartition("@")
    if local.startswith('"') and local.endswith('"') and len(local) > 1:
        local = local[1:-1].replace("\\", "")
    name = local.partition("+")[0] or local
    return f"{''.join(letter.lower() for letter in name)}@{host.lower().removesuffix('.')}"


def in_headers(address: str) -> Iterable[str]:
    """Yield an address as headers and SMTP envelopes have it; nothing if it is refused."""
    try:
        yield compose.written_address(address)
    except UnsafeMessage:
        return


def transmitted(address: str) -> set[str]:
    """Return an address as connectors write it: one that a caller names, and a derived one."""
    named = as_written(address)  # JSON of shares and tasks has this one
    forms = set(in_headers(address))
    if named is not None:
        forms |= {named, addresses.as_written(named), *in_headers(named)}
    if normalize(address) is not None:
        forms.add(addresses.as_written(address.strip()))
    return forms


def differences(template: str, points: Iterable[int]) -> list[str]:
    """Return the addresses of which the rules read another mailbox than is written to."""
    allow = RecipientRules(frozenset({WORK}), frozenset())
    block = RecipientRules(frozenset({"*"}), frozenset({WORK}))
    wrong = []
    for point in points:
        address = template.format(chr(point))
        mailboxes = set(map(mailbox_of, transmitted(address)))
        normal = normalize(address)
        if normal is not None and mailboxes != {normal}:
            wrong.append(address)
        if WORK in mailboxes and block.allows(address):
            wrong.append(address)
        if allow.allows(address) and mailboxes != {WORK}:
            wrong.append(address)
    return wrong


@pytest.mark.parametrize("position", POSITIONS)
def test_rules_compare_what_is_written(position):
    assert differences(POSITIONS[position], COARSE) == []


@pytest.mark.slow
@pytest.mark.parametrize("position", POSITIONS)
def test_rules_compare_what_is_written_for_more_code_points(position):
    assert differences(POSITIONS[position], MORE) == []


def recipients_of(people: list[Participant]) -> list[str]:
    """Return the recipients that a parser reads in the To header of a message to *people*."""
    message = compose.OutgoingMessage(
        sender="me@north.example",
        to=people,
        subject="s",
        body="b",
        body_type="text",
        message_id="a@gw.example",
    )
    head, _, _ = compose.serialize(message).whole().partition(b"\r\n\r\n")
    header = head.decode().partition("\nTo: ")[2].partition("\nSubject:")[0]
    # Encoded words have no separators, so lines can be read alone: the parser of the standard
    # library takes quadratic time for long headers.
    pairs = [getaddresses([line]) for line in header.replace("\r\n <", " <").split(",\r\n ")]
    return [address for pair in pairs for _, address in pair]


def added_by_names(points: Iterable[int]) -> list[str]:
    """Return the display names that add or change a recipient."""
    written = [
        Participant(email=WORK, name=f'{chr(point)}, "Bo{chr(point)} <eve@else.example>')
        for point in points
        if not unsafe(chr(point))
    ]
    wrong = []
    for start in range(0, len(written), 500):
        people = written[start : start + 500]
        if recipients_of(people) != [WORK] * len(people):
            wrong += [person.name for person in people if recipients_of([person]) != [WORK]]
    return wrong


def test_display_names_add_no_recipient():
    assert added_by_names(COARSE) == []


@pytest.mark.slow
def test_display_names_of_more_code_points_add_no_recipient():
    assert added_by_names(MORE) == []
