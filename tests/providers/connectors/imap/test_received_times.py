"""Received times from the rows of an answer, in the usual form and in others."""

import pytest

from providers.connectors.imap import received_times
from providers.imap.session import Reply

NOON = 1772452800  # 2 March 2026, 12:00 UTC


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b'UID 7 INTERNALDATE " 2-Mar-2026 12:00:00 +0000"', {7: NOON}),
        (b'INTERNALDATE "02-Mar-2026 12:00:00 +0000" UID 7', {7: NOON}),
        (b'UID 7 INTERNALDATE "02-Mar-2026 17:30:00 +0530"', {7: NOON}),
        (b'UID 7 INTERNALDATE "02-Mar-2026 08:30:00 -0330"', {7: NOON}),
        (b'UID 7 INTERNALDATE "01-Mar-2026 23:30:01 -1230"', {7: NOON + 1}),
        (b'UID 7 INTERNALDATE "02-mar-2026 12:00:00 +0000"', {7: NOON}),
        (b'UID 7 FLAGS (\\Seen) INTERNALDATE "02-Mar-2026 12:00:00 +0000"', {7: NOON}),
        (b'UID 7 INTERNALDATE "01-Jan-1960 00:00:00 +0000"', {7: 0}),
        (b'UID 7 INTERNALDATE "31-Feb-2026 12:00:00 +0000"', {7: 0}),
        (b"UID 7 INTERNALDATE NIL", {7: 0}),
        (b'INTERNALDATE "02-Mar-2026 12:00:00 +0000"', {}),
        (b"FLAGS (\\Seen)", {}),
    ],
)
def test_received_times_are_parsed_from_rows(row, expected):
    reply = Reply(b"OK", ([b"* 3 EXISTS"], [b"* 1 FETCH (" + row + b")"]))

    assert received_times.read(reply) == expected
