"""
Signed heads of the chains of decisions: the last number of a chain, and the signature of that row.

A head is stored in the transaction of the rows that it ends, so that the removal of the newest rows
of a chain, or of all its rows, is detected. Whoever can also put back an older head is detected by
a head that was kept elsewhere: heads are written to the log and to the metrics, and `decisions
verify --head` compares. Chains from before there were heads have none.
"""

from collections.abc import Mapping

import orjson
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.chain import HEADED, ChainFault, Fault, Link
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.further_tables import DecisionHead

_CONTEXT = b"decision head"
Heads = Mapping[str, DecisionHead]  # by chain


def has_head(chain: str) -> bool:
    """Return whether rows of *chain* are stored together with a head."""
    return chain.endswith(HEADED)


def head_of(link: Link, keyring: Keyring) -> DecisionHead:
    """Return the signed head of a chain that ends with *link*."""
    head = DecisionHead(chain=link.chain, number=link.number, digest=link.signature, signature="")
    head.signature = sign(head, keyring)
    return head


def sign(head: DecisionHead, keyring: Keyring) -> str:
    """Return the signature of *head* under the first key."""
    return keyring.sign(_payload(head), context=_CONTEXT)


def is_valid(head: DecisionHead, keyring: Keyring) -> bool:
    """Return whether a key of the ring signed *head*."""
    return keyring.verify(head.signature, _payload(head), context=_CONTEXT)


def is_current(head: DecisionHead, keyring: Keyring) -> bool:
    """Return whether the first key signed *head*."""
    return keyring.is_current(head.signature, _payload(head), context=_CONTEXT)


async def store(database: Database, session: AsyncSession, head: DecisionHead) -> None:
    """Insert *head*, or put it in the place of the one that its chain has."""
    changed = {name: getattr(head, name) for name in ("number", "digest", "signature")}
    statement = database.insert(DecisionHead).values(chain=head.chain, **changed)
    await (await session.connection()).execute(
        statement.on_conflict_do_update(index_elements=["chain"], set_=changed)
    )


async def read(database: Database) -> Heads:
    """Return every head."""
    async with database.reading() as session:
        return {head.chain: head for head in await session.exec(select(DecisionHead))}


def text_of(link: Link) -> str:
    """Return a head in the form that logs have and `parse` reads."""
    return f"{link.chain}:{link.number}:{link.signature}"


def parse(text: str) -> Link:
    """
    Read a head that was kept elsewhere.

    Raises:
        ValueError: It is not one.
    """
    chain, number, digest = text.strip().split(":")
    return Link(chain, int(number), digest)


class HeadCheck:
    """
    Compares heads with the rows of their chains, which are shown to it in order.

    *stored* are the heads as they were before the rows were read; *kept* are links that were kept
    elsewhere.
    """

    def __init__(self, keyring: Keyring, stored: Heads, kept: list[Link]) -> None:
        self._keyring = keyring
        self._stored = stored
        self._expected = [Link(head.chain, head.number, head.digest) for head in stored.values()]
        self._expected += kept
        self._wanted: dict[str, dict[int, str]] = {}
        for link in self._expected:
            self._wanted.setdefault(link.chain, {})[link.number] = ""
        self._last = Link("", 0, "")
        self._numbers: dict[str, int] = {}  # of the last row of each chain
        self.reordered: list[ChainFault] = []

    def see(self, link: Link) -> None:
        """Note a row: its signature where a head names it, and whether its id follows."""
        last, self._last = self._last, link
        if link.chain == last.chain and link.row_id < last.row_id:
            fault = ChainFault(link.chain, link.number, Fault.REORDERED, link.number)
            self.reordered.append(fault)
        self._numbers[link.chain] = link.number
        wanted = self._wanted.get(link.chain)
        if wanted is not None and link.number in wanted:
            wanted[link.number] = link.signature

    def faults(self, now: Heads, *, first_day: str) -> list[ChainFault]:
        """
        Return what is wrong at the ends of chains, and with the order of rows.

        Args:
            now: The heads after the rows were read: a chain may have begun meanwhile.
            first_day: Of the retention period; chains of earlier days may be gone.
        """
        faults = [*self.reordered]
        faults += [
            ChainFault(head.chain, head.number, Fault.CHANGED, head.number)
            for head in self._stored.values()
            if not is_valid(head, self._keyring)
        ]
        for link in self._expected:
            rows = self._numbers.get(link.chain, 0)
            if rows < link.number and (rows or link.chain[:10] >= first_day):
                faults.append(ChainFault(link.chain, rows + 1, Fault.MISSING, link.number))
            elif rows and self._wanted[link.chain][link.number] not in ("", link.signature):
                faults.append(ChainFault(link.chain, link.number, Fault.CHANGED, link.number))
        for chain, rows in self._numbers.items():
            if has_head(chain) and chain not in self._stored and chain not in now:
                faults.append(ChainFault(chain, rows + 1, Fault.MISSING, rows + 1))
        return faults


def _payload(head: DecisionHead) -> bytes:
    return orjson.dumps([head.chain, head.number, head.digest])
