"""
Signature chains of decision rows: one chain per process and day.

Each row is signed together with the previous signature, under the deployment's secret keys, so that
the holder of the keys detects a changed, removed or inserted row. The end of a chain is signed as
its head (`gateway.audit.heads`). Rows of keys that are no longer in the ring are
verified by their seals (`gateway.audit.seals`).
"""

import secrets
from enum import StrEnum

import msgspec
import orjson

from gateway.audit.decision import Decision
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps

CONTEXT = b"decision"
HEADED = ".h"  # ends the names of chains that have a head; each row is signed with the name
DAY_MS = 24 * 60 * 60 * 1000


class Link(msgspec.Struct, frozen=True):
    """
    The position of a row in its chain, counted from 1, and its signature.

    Attributes:
        row_id: The id by which pages are ordered; 0 where it is not read.
    """

    chain: str
    number: int
    signature: str
    row_id: int = 0


class Chain:
    """The chain that this process writes; each UTC day begins a new one."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._day = -1
        self._last = Link("", 0, "")

    def link(self, row: Decision) -> Link:
        """Append *row* to the chain of its day."""
        if row.at // DAY_MS != self._day:
            self._day = row.at // DAY_MS
            name = f"{timestamps.to_text(row.at)[:10]}-{secrets.token_hex(8)}{HEADED}"
            self._last = Link(name, 0, "")
        self._last = link_after(self._last, row, self._keyring)
        return self._last


def link_after(last: Link, row: Decision, keyring: Keyring) -> Link:
    """Append *row* to the chain that ends with *last*, whose number is 0 when it has no row."""
    chain, number = last.chain, last.number + 1
    payload = payload_of(chain, number, last.signature, row)
    return Link(chain, number, keyring.sign(payload, context=CONTEXT))


class Fault(StrEnum):
    """Kinds of damage to a chain."""

    CHANGED = "changed"  # the row, or the signature before it, is not what was signed
    MISSING = "missing"  # rows before this one, or these rows of the end, are missing
    REORDERED = "reordered"  # pages show the row before an earlier one of its chain


class ChainFault(msgspec.Struct, frozen=True):
    """
    A fault at the row with *number* in *chain*, or at some rows from there to *last*.

    Rows that only a seal verifies are verified together.
    """

    chain: str
    number: int
    fault: Fault
    last: int


def payload_of(chain: str, number: int, previous: str, row: Decision) -> bytes:
    """Return what the signature of *row* is made over; *previous* is that of the row before."""
    # Members that older rows lack are left out at the end while they have their defaults, so that
    # the signatures of those rows hold.
    members = list[object](row)
    for name in reversed(tuple(Decision._field_defaults)):
        if members[-1] != Decision._field_defaults[name]:
            break
        members.pop()
    return orjson.dumps([chain, number, previous, *members])
