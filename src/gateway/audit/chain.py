"""
Rows that vouch for each other: what one process writes in one day is a chain of signatures.

Each row is signed together with the signature before it, under the deployment's secret keys, so
that a row that was changed, taken out or put in is seen by whoever has the keys. Not seen: that the
newest rows of a chain, or a whole chain, are gone.
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
DAY = 24 * 60 * 60 * 1000  # milliseconds


@dataclass(frozen=True, slots=True)
class Link:
    """Where a row stands: the *number* of a *chain*, from 1."""

    chain: str
    number: int
    signature: str


class Chain:
    """The chain that this process writes; a new day begins a new one."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._day = -1
        self._last = Link("", 0, "")

    def link(self, row: Decision) -> Link:
        """Put *row* at the end of the chain of its day."""
        if row.at // DAY != self._day:
            self._day = row.at // DAY
            name = f"{timestamps.to_text(row.at)[:10]}-{secrets.token_hex(8)}"
            self._last = Link(name, 0, "")
        chain, number = self._last.chain, self._last.number + 1
        payload = _payload(chain, number, self._last.signature, row)
        self._last = Link(chain, number, self._keyring.sign(payload, context=_CONTEXT))
        return self._last


class Fault(StrEnum):
    """What is wrong with a chain."""

    CHANGED = "changed"  # the row is not what was signed, or does not follow the one before
    MISSING = "missing"  # rows before this one are gone


@dataclass(frozen=True, slots=True)
class ChainFault:
    """*fault* at the row with this *number* of a *chain*."""

    chain: str
    number: int
    fault: Fault


async def faults(
    keyring: Keyring, linked: AsyncIterable[tuple[Link, Decision]]
) -> AsyncIterator[ChainFault]:
    """Check rows that come chain by chain, in the order of their numbers."""
    last = Link("", 0, "")
    async for link, row in linked:
        if link.chain != last.chain:
            last = Link(link.chain, 0, "")
        if link.number != last.number + 1:
            yield ChainFault(link.chain, link.number, Fault.MISSING)
        else:
            payload = _payload(link.chain, link.number, last.signature, row)
            if not keyring.verify(link.signature, payload, context=_CONTEXT):
                yield ChainFault(link.chain, link.number, Fault.CHANGED)
        last = link


def _payload(chain: str, number: int, before: str, row: Sequence[object]) -> bytes:
    return orjson.dumps([chain, number, before, *row])
