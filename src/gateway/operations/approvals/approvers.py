"""Approvers: people who release and reject held writes, and may do nothing else."""

import hashlib
import secrets
from typing import Annotated, NamedTuple

from pydantic import Field
from sqlmodel import col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.operations import rows
from gateway.operations.approvals.views import AddedApprover, ListedApprover
from gateway.operations.inputs import Input, Name
from gateway.operations.validation import invalid
from gateway.store import timestamps
from gateway.store.further_tables import ApproverRow
from gateway.store.tables import AccessToken, Operator, Resource
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code

MAX_APPROVERS = 1_000  # docs/spec/held-writes.md#limits
MAX_LIMITED_TO = 100
MAX_NAME = 90  # characters; the decision log has 100 for `approver NAME`
PREFIX = "agwa_"  # no access token begins so


class NewApprover(Input):
    """An approver to add, limited to operators and resources; empty lists limit nothing."""

    name: Annotated[Name, Field(max_length=MAX_NAME)]
    operator_ids: Annotated[list[str], Field(max_length=MAX_LIMITED_TO, default_factory=list)]
    resource_ids: Annotated[list[int], Field(max_length=MAX_LIMITED_TO, default_factory=list)]


class Decider(NamedTuple):
    """
    A person who decides about held writes.

    Attributes:
        operator_ids, resource_ids: The only ones whose writes they see; empty: all.
    """

    operator_ids: tuple[str, ...] = ()
    resource_ids: tuple[int, ...] = ()


ADMIN = Decider()


class Approver(NamedTuple):
    """
    An approver who is there now.

    Attributes:
        digest: SHA-256 of the credential.
    """

    id: int
    digest: bytes
    name: str
    decider: Decider

    @property
    def actor(self) -> str:
        """The name in the decision log."""
        return f"approver {self.name}"[:100]

    @classmethod
    def of(cls, row: ApproverRow) -> "Approver":
        """Return the approver of a stored row."""
        decider = Decider(tuple(row.operator_ids), tuple(row.resource_ids))
        return cls(row.id or 0, bytes(row.digest), row.name, decider)


async def add(session: AsyncSession, new: NewApprover) -> AddedApprover:
    """
    Add an approver; the credential is in the returned object and never seen again.

    Raises:
        InvalidInput: The name is taken, an operator or a resource does not exist, or there are
            too many approvers.
    """
    count = (await session.exec(select(func.count(col(ApproverRow.id))))).one()
    if count >= MAX_APPROVERS:
        raise InvalidInput(f"A deployment has at most {MAX_APPROVERS} approvers.")
    named = select(ApproverRow.id).where(col(ApproverRow.name) == new.name)
    if (await session.exec(named)).first() is not None:
        raise invalid("name", "is the name of another approver")
    for operator in new.operator_ids:
        await rows.lock_reference(session, Operator, operator, field="operatorIds")
    for resource in new.resource_ids:
        await rows.lock_reference(session, Resource, resource, field="resourceIds")
    credential = PREFIX + secrets.token_urlsafe(32)
    row = ApproverRow(
        name=new.name,
        digest=digest_of(credential),
        operator_ids=list(dict.fromkeys(new.operator_ids)),
        resource_ids=list(dict.fromkeys(new.resource_ids)),
        created_at=timestamps.now_ms(),
    )
    session.add(row)
    await session.flush()
    note(session, "createApprover", row.id)
    return AddedApprover.of(row, credential=credential)


async def list_all(session: AsyncSession) -> list[ListedApprover]:
    """Return the approvers, oldest first."""
    ordered = select(ApproverRow).order_by(col(ApproverRow.id))
    return [ListedApprover.of(row) for row in await session.exec(ordered)]


async def remove(session: AsyncSession, approver_id: int) -> None:
    """
    Remove an approver; the credential is refused from now on.

    Raises:
        NotFound: There is no such approver.
    """
    row = await session.get(ApproverRow, approver_id)
    if row is None:
        raise NotFound("There is no such approver.", code=Code.NOT_FOUND)
    await session.delete(row)
    note(session, "removeApprover", approver_id)


async def by_digest(session: AsyncSession) -> dict[bytes, Approver]:
    """Return every approver, by the SHA-256 of the credential."""
    listed = map(Approver.of, await session.exec(select(ApproverRow)))
    return {approver.digest: approver for approver in listed}


async def find(session: AsyncSession, approver_id: int) -> Approver | None:
    """Return an approver; None without one of that id."""
    row = await session.get(ApproverRow, approver_id)
    return None if row is None else Approver.of(row)


async def is_access_token(session: AsyncSession, digest: bytes) -> bool:
    """Return whether the credential of *digest* is, or lately was, an access token's text."""
    token = col(AccessToken.digest) == digest
    earlier = col(AccessToken.previous_digest) == digest
    return (await session.exec(select(AccessToken.id).where(token | earlier))).first() is not None


def digest_of(credential: str) -> bytes:
    """Return the SHA-256 of a credential."""
    return hashlib.sha256(credential.encode("utf-8", "replace")).digest()
