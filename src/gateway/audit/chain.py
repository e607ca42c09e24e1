"""
Signature chains of decision rows: one chain per process and day.

Each row is signed together with the previous signature, under the deployment's secret keys, so that
the holder of the keys detects a changed, removed or inserted row. The removal of the newest rows of
a chain, or of a whole chain, is not detected.
"""

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import orjson

from gateway.audit.decision import Decision
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps

_CONTEXT = b"decision"
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Link:
    """The position of a row in its chain, counted from 1, and its signature."""

    chain: str
    number: int
    signature: str


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
            name = f"{timestamps.to_text(row.at)[:10]}-{secrets.token_hex(8)}"
            self._last = Link(name, 0, "")
        chain, number = self._last.chain, self._last.number + 1
        payload = _payload(chain, number, self._last.signature, row)
        self._last = Link(chain, number, self._keyring.sign(payload, context=_CONTEXT))
        return self._last


class Fault(StrEnum):
    """Kinds of damage to a chain."""

    CHANGED = "changed"  # the row, or the signature before it, is not what was signed
    MISSING = "missing"  # rows before this one are missing


@dataclass(frozen=True, slots=True)
class ChainFault:
    """A fault at the row with *number* in *chain*."""

    chain: str
    number: int
    fault: Fault


async def faults(
    keyring: Keyring, rows: AsyncIterable[tuple[Link, Decision]]
) -> AsyncIterator[ChainFault]:
    """Check *rows*, which come chain by chain in the order of their numbers."""
    last = Link("", 0, "")
    async for link, row in rows:
        if link.chain != last.chain:
            last = Link(link.chain, 0, "")
        if link.number != last.number + 1:
            yield ChainFault(link.chain, link.number, Fault.MISSING)
        else:
            payload = _payload(link.chain, link.number, last.signature, row)
            if not keyring.verify(link.signature, payload, context=_CONTEXT):
                yield ChainFault(link.chain, link.number, Fault.CHANGED)
        last = link


def _payload(chain: str, number: int, previous: str, row: Sequence[object]) -> bytes:
    return orjson.dumps([chain, number, previous, *row])
