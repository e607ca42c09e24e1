"""
A large mailbox on Dovecot beside the same one at the providers A and B.

`IMAP_VOLUME` is the number of its messages (600 unless it says otherwise), `IMAP_VOLUME_REQUESTS`
of the requests over which the gateway's memory stays flat (300); `-s` shows the figures.
"""

import os
import sys
from dataclasses import astuple
from pathlib import Path

import pytest
from gateway_processes import tell

sys.path.insert(0, str(Path(__file__).parent))
import imap_volume
from imap_volume import FIRST, NEXT, WARM

MESSAGES = int(os.environ.get("IMAP_VOLUME", "600"))
REQUESTS = int(os.environ.get("IMAP_VOLUME_REQUESTS", "300"))
REPEATS = 5  # of a page

pytestmark = pytest.mark.slow


def test_a_page_costs_four_commands_and_memory_stays_flat():
    figures = imap_volume.measure(MESSAGES, REQUESTS, repeats=REPEATS)

    for (provider, kind), page in figures.pages.items():
        tell(provider=provider, kind=kind, figures=astuple(page))
    tell(memory=astuple(figures.memory), filled=figures.fill_seconds)
    first, warm, second = (figures.pages["IMAP", kind] for kind in (FIRST, WARM, NEXT))
    assert warm.commands <= 4
    assert second.commands <= 4
    # Four, one that opens the inbox, and NAMESPACE, once for a session.
    assert first.commands <= 6
    assert warm.octets < 60_000
    assert first.octets < 60_000 + 90 * MESSAGES  # with the date of each
    assert figures.memory.after - figures.memory.before < 8_000_000
