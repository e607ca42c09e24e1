"""
Rows of the decision log about changes by administrators: who changed which token, rule or account.

An operation notes its change in its session; the row is stored in the transaction of the change, so
neither exists without the other. Rows of one UTC day are one chain, whoever writes them. They hold
ids and names of administrators, never values. See docs/spec/management.md#changes.
"""

import os
import pwd
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

import msgspec
from sqlalchemy import text
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit import heads
from gateway.audit.chain import HEADED, Link, link_after
from gateway.audit.decision import Decision, EntryPoint, Outcome
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.further_tables import DecisionHead
from gateway.store.tables import AccessToken, DecisionRow
from gateway.store.timestamps import ClockMs, now_ms

_NOTES = "gateway.changes"  # in the info of a session
# PostgreSQL's advisory lock of the chain; arbitrary, but the same in every process. It is taken
# last in a transaction, so that it is part of no deadlock.
_LOCK = text("SELECT pg_advisory_xact_lock(7301121)")


class Actor(NamedTuple):
    """The author of changes: the name of an admin token or of a user of the operating system."""

    name: str
    entry_point: EntryPoint
    request_id: str


class _Note(NamedTuple):
    operation: str
    resource_id: str | None
    token: AccessToken | None


actor: ContextVar[Actor] = ContextVar("actor")


def note(
    session: AsyncSession, operation: str, resource_id: object, *, token: AccessToken | None = None
) -> None:
    """
    Note a change that the transaction of *session* makes.

    Args:
        session: Its transaction stores the row when it commits.
        operation: Verb and noun, such as `changeToken`.
        resource_id: The id of what is changed; None for the deployment.
        token: The token that the change is about, if any.
    """
    changed_id = None if resource_id is None else str(resource_id)
    session.info.setdefault(_NOTES, []).append(_Note(operation, changed_id, token))


@retried
async def log_change(database: Database, operation: str, resource_id: object = None) -> None:
    """Note a change that is made already, in a transaction of its own; arguments as in `note`."""
    async with database.writing() as session:
        note(session, operation, resource_id)


def act_at_the_command_line() -> None:
    """Make the user of the operating system the actor of what this process changes."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a user without an entry, as in some containers
        name = f"uid {os.getuid()}"
    actor.set(Actor(name[:100], EntryPoint.COMMAND_LINE, str(uuid.uuid4())))


class ChangeLog(msgspec.Struct, frozen=True, kw_only=True):
    """
    Stores the rows of noted changes. One per process.

    Attributes:
        days: Retention period; 0 stores no rows.
        clock: Milliseconds since the epoch.
    """

    database: Database
    keyring: Keyring
    days: int
    clock: ClockMs = now_ms

    def install(self) -> None:
        """Have every transaction of the database store the changes that were noted in it."""
        if self.days:
            self.database.before_commit = self.store

    async def store(self, session: AsyncSession) -> None:
        """
        Add the rows of the changes noted in *session* to its transaction.

        Raises:
            LookupError: The actor is not known.
        """
        notes: list[_Note] = session.info.pop(_NOTES, [])
        if not notes:
            return
        await session.flush()
        if self.database.path is None:
            await (await session.connection()).execute(_LOCK)
        now = self.clock()
        last = await _last_link(session, f"{timestamps.to_text(now)[:10]}-changes{HEADED}")
        for row in _rows(notes, actor.get(), lambda: now):
            last = link_after(last, row, self.keyring)
            session.add(
                DecisionRow(
                    **row._asdict(), chain=last.chain, number=last.number, signature=last.signature
                )
            )
        await session.flush()
        await heads.store(self.database, session, heads.head_of(last, self.keyring))


def _rows(notes: list[_Note], who: Actor, clock: Callable[[], int]) -> list[Decision]:
    return [
        Decision(
            at=clock(),
            request_id=who.request_id,
            token_id=changed.token.id or 0 if changed.token is not None else 0,
            operator_id=changed.token.operator_id if changed.token is not None else "",
            door=who.entry_point,
            surface=None,
            operation=changed.operation,
            resource_id=changed.resource_id,
            outcome=Outcome.ALLOWED,
            layer=None,
            code=None,
            status=200,
            rule_id=None,
            policy_rev=changed.token.policy_rev if changed.token is not None else 0,
            hidden_fields=0,
            cost=0,
            duration=0,
            upstream_calls=0,
            upstream_status=None,
            actor=who.name,
            parent_id=changed.token.parent_id if changed.token is not None else None,
        )
        for changed in notes
    ]


async def _last_link(session: AsyncSession, chain: str) -> Link:
    """Return the end of *chain* by its head, so that a row after removed ones shows the gap."""
    head = await session.get(DecisionHead, chain)
    return Link(chain, 0, "") if head is None else Link(chain, head.number, head.digest)
