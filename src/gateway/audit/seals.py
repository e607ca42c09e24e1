"""
Verification of the chains, and the seals that keep it possible after a rotation of the keys.

A seal is one signature over a segment of a chain. `secret rotate` makes seals under the first key
for the rows of older keys, which are then no longer needed. The rows stay as they are, because
processes may still append to their chains. A seal holds what was wrong already when it was made,
so that it hides no tampering. See docs/spec/management.md#decision-log.
"""

import hashlib
from bisect import bisect_right
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from gateway.audit.chain import CONTEXT, ChainFault, Fault, Link, payload_of
from gateway.audit.decision import Decision
from gateway.secrets.keyring import Keyring
from gateway.store.tables import DecisionSeal
from gateway.store.timestamps import ClockMs, now_ms

MAX_ROWS = 200  # of one seal: so closely is tampering located once the key of the rows is gone
_CONTEXT = b"decision seal"

Seals = Mapping[str, Sequence[DecisionSeal]]  # chain -> its seals, in the order of the rows
Rows = AsyncIterable[tuple[Link, Decision]]


@dataclass(slots=True)
class Segment:
    """
    Consecutive rows of a chain, as far as they were read.

    Attributes:
        first, last: Numbers of its rows.
        faults: What row-by-row verification found: (number, fault).
        current: Rows that the first key signed.
        older: Rows that another key of the ring signed.
    """

    chain: str
    first: int
    last: int = 0
    rows: int = 0
    current: int = 0
    older: int = 0
    faults: list[tuple[int, Fault]] = field(default_factory=list)
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, previous: Link, link: Link, row: Decision, keyring: Keyring) -> None:
        """Verify the next row, which follows *previous*, by its own signature."""
        payload = payload_of(link.chain, link.number, previous.signature, row)
        self._digest.update(payload + b"\n" + link.signature.encode("utf-8", "replace") + b"\n")
        self.last, self.rows = link.number, self.rows + 1
        if link.number != previous.number + 1:
            self.faults.append((link.number, Fault.MISSING))
        elif keyring.is_current(link.signature, payload, context=CONTEXT):
            self.current += 1
        elif keyring.verify(link.signature, payload, context=CONTEXT):
            self.older += 1
        else:
            self.faults.append((link.number, Fault.CHANGED))

    def digest(self) -> str:
        return self._digest.hexdigest()

    def seal(self, keyring: Keyring, clock: ClockMs = now_ms) -> DecisionSeal:
        """Sign the rows and what is wrong with them."""
        sealed = DecisionSeal(
            chain=self.chain,
            first=self.first,
            last=self.last,
            digest=self.digest(),
            faults=[(number, fault.value) for number, fault in self.faults],
            sealed_at=clock(),
            signature="",
        )
        sealed.signature = sign(sealed, keyring)
        return sealed


def sign(seal: DecisionSeal, keyring: Keyring) -> str:
    """Return the signature of *seal* under the first key."""
    return keyring.sign(_payload(seal), context=_CONTEXT)


def is_valid(seal: DecisionSeal, keyring: Keyring) -> bool:
    """Return whether a key of the ring signed *seal*."""
    return keyring.verify(seal.signature, _payload(seal), context=_CONTEXT)


def is_current(seal: DecisionSeal, keyring: Keyring) -> bool:
    """Return whether the first key signed *seal*."""
    return keyring.is_current(seal.signature, _payload(seal), context=_CONTEXT)


async def segments(
    keyring: Keyring, rows: Rows, seals: Seals
) -> AsyncIterator[tuple[Segment, DecisionSeal | None]]:
    """
    Verify *rows*, which come chain by chain in the order of their numbers.

    Yields:
        Each segment of a seal with the seal, and the rows between seals in segments of at most
        `MAX_ROWS`.
    """
    previous, segment = Link("", 0, ""), Segment("", 0)
    seal: DecisionSeal | None = None
    async for link, row in rows:
        is_new = link.chain != previous.chain
        if is_new:
            previous = Link(link.chain, 0, "")
        following = seal
        if seal is None or is_new or link.number > seal.last:
            following = seal_at(seals.get(link.chain, ()), link.number)
        begins = following is not seal or (seal is None and segment.rows >= MAX_ROWS)
        if is_new or begins:
            if segment.rows:
                yield segment, seal
            segment, seal = Segment(link.chain, link.number), following
        segment.add(previous, link, row, keyring)
        previous = link
    if segment.rows:
        yield segment, seal


async def faults(
    keyring: Keyring, rows: Rows, seals: Seals | None = None
) -> AsyncIterator[ChainFault]:
    """Check *rows*, which come chain by chain in the order of their numbers."""
    async for segment, seal in segments(keyring, rows, seals or {}):
        for fault in faults_of(segment, seal, keyring):
            yield fault


def faults_of(
    segment: Segment, seal: DecisionSeal | None, keyring: Keyring
) -> Iterable[ChainFault]:
    """Return what is wrong with the rows of *segment*, which *seal* covers if there is one."""
    chain = segment.chain
    own = [ChainFault(chain, number, fault, number) for number, fault in segment.faults]
    if seal is None or not is_valid(seal, keyring):
        return own
    if (segment.first, segment.last, segment.digest()) == (seal.first, seal.last, seal.digest):
        return [ChainFault(chain, number, Fault(fault), number) for number, fault in seal.faults]
    if missing := [fault for fault in own if fault.fault is Fault.MISSING]:
        return missing
    # Of rows that no key verifies, or whose older key signed something else, the seal tells only
    # that they are not those that it was made for.
    changed = [number for number, _ in segment.faults] or [seal.first, seal.last]
    return [ChainFault(chain, changed[0], Fault.CHANGED, changed[-1])]


def seal_at(seals: Sequence[DecisionSeal], number: int) -> DecisionSeal | None:
    """Return the seal of the row *number*; *seals* are in their order."""
    position = bisect_right(seals, number, key=lambda seal: seal.first) - 1
    return seals[position] if position >= 0 and number <= seals[position].last else None


def _payload(seal: DecisionSeal) -> bytes:
    members = (seal.chain, seal.first, seal.last, seal.digest, seal.faults, seal.sealed_at)
    return orjson.dumps(members)
