"""The targets of notices about new held writes: added, listed, given a new secret, removed."""

from typing import Annotated

from pydantic import Field
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.held_writes.notices import KIND, owner
from gateway.operations import rows
from gateway.operations.approvals.views import AddedNotice, ListedNotice
from gateway.operations.inputs import Input
from gateway.operations.validation import invalid
from gateway.secrets.keyring import Keyring
from gateway.store.further_tables import WebhookTarget
from gateway.store.tables import Operator
from gateway.webhooks import targets
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code

MAX_NOTICES = 20  # docs/spec/held-writes.md#limits


class NewNotice(Input):
    """A URL that is told of new held writes: of one operator, or without one of all."""

    url: Annotated[str, Field(min_length=1, max_length=targets.MAX_URL)]
    operator_id: str | None = None


async def add(session: AsyncSession, keyring: Keyring, new: NewNotice) -> AddedNotice:
    """
    Add a target; the secret is in the returned object and never seen again.

    Raises:
        InvalidInput: The URL cannot be called, the operator does not exist, or there are too many.
    """
    if len(await targets.list_of(session, KIND)) >= MAX_NOTICES:
        raise InvalidInput(f"A deployment has at most {MAX_NOTICES} notices of held writes.")
    if new.operator_id is not None:
        await rows.lock_reference(session, Operator, new.operator_id, field="operatorId")
    try:
        row, secret = await targets.create(session, keyring, owner(new.operator_id), new.url)
    except ValueError:
        raise invalid("url", "must be an https URL of a public address") from None
    note(session, "createNotice", row.id)
    return AddedNotice.of(row, operator_id=new.operator_id, secret=secret)


async def list_all(session: AsyncSession) -> list[ListedNotice]:
    """Return the targets, oldest first, without their secrets."""
    listed = await targets.list_of(session, KIND)
    return [ListedNotice.of(row, operator_id=row.owner_id or None) for row in listed]


async def rotate(session: AsyncSession, keyring: Keyring, notice_id: str) -> AddedNotice:
    """
    Give a target a new secret, which is never seen again; a dead one is called again.

    Raises:
        NotFound: There is no such target.
    """
    row = await _get(session, notice_id)
    secret = await targets.rotate(session, keyring, row)
    note(session, "rotateNotice", row.id)
    return AddedNotice.of(row, operator_id=row.owner_id or None, secret=secret)


async def remove(session: AsyncSession, notice_id: str) -> None:
    """
    Remove a target, with the calls that wait.

    Raises:
        NotFound: There is no such target.
    """
    await session.delete(await _get(session, notice_id))
    note(session, "removeNotice", notice_id)


async def _get(session: AsyncSession, notice_id: str) -> WebhookTarget:
    is_id = len(notice_id) <= targets.MAX_ID and notice_id.isascii() and notice_id.isprintable()
    row = await targets.find(session, KIND, notice_id, for_update=True) if is_id else None
    if row is None:
        raise NotFound("There is no such notice.", code=Code.NOT_FOUND)
    return row
