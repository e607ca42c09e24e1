"""
Targets of wake-up calls: URLs that somebody gave, with the secrets that sign the calls.

What a target belongs to is named by an `Owner`: the module that makes targets names its kind,
decides who may make them and how many, and deletes them with their owner.
"""

import secrets as random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import orjson
from sqlalchemy import case, delete, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.secrets.keyring import Keyring, column_context
from gateway.store.database import Database
from gateway.store.further_tables import WebhookDelivery, WebhookTarget
from gateway.store.timestamps import now_ms
from gateway.webhooks import signatures
from providers.http.pool import is_public
from providers.http.urls import parse_url

ACTIVE, DEAD = "active", "dead"
MAX_ID = 16  # characters
MAX_URL = 2_000  # characters
MAX_BODY = 4_096  # bytes
PREVIOUS_SECRET_MS = 24 * 60 * 60 * 1000  # that the secret before a rotation still signs
NEWER_WITHIN_MS = 60_000  # a newer wake-up waits no longer for the pause of the one it replaces


class Owner(NamedTuple):
    """The owner of a target: a kind of at most 16 characters, and an id of at most 64."""

    kind: str
    id: str


class Secrets(msgspec.Struct, frozen=True):
    """
    The secrets of a target.

    Attributes:
        previous, previous_until: The secret before the last rotation, and until when it signs too,
            in milliseconds.
    """

    current: str
    previous: str | None = None
    previous_until: int = 0

    def valid_at(self, now: int) -> Sequence[str]:
        """Return those that sign a call at *now*, in milliseconds."""
        if self.previous is None or now >= self.previous_until:
            return (self.current,)
        return (self.current, self.previous)


def checked_url(text: str) -> str:
    """
    Return a URL that can be a target's.

    A name in it is looked up, and its addresses are checked, when it is called.

    Raises:
        ValueError: It is not https, has userinfo or a fragment, is too long, or its host is an
            address of this network.
    """
    url = parse_url(text)
    if url.scheme != "https" or len(text) > MAX_URL or not text.isascii():
        raise ValueError(f"The URL must be https, in at most {MAX_URL} ASCII characters.")
    host = url.host.rstrip(".")
    try:
        is_foreign = not is_public(host)
    except ValueError:  # a name
        is_foreign = host == "localhost" or host.endswith(".localhost")
    if is_foreign:
        raise ValueError("The URL leads into this network.")
    return text


async def create(
    session: AsyncSession, keyring: Keyring, owner: Owner, url: str
) -> tuple[WebhookTarget, str]:
    """
    Add a target; the secret is returned this once.

    Raises:
        ValueError: As `checked_url`.
    """
    target_id, secret = random.token_urlsafe(12), signatures.new_secret()
    target = WebhookTarget(
        id=target_id,
        owner_kind=owner.kind,
        owner_id=owner.id,
        url=checked_url(url),
        secrets=_sealed(keyring, target_id, Secrets(secret)),
        state=ACTIVE,
        failures=0,
        created_at=now_ms(),
    )
    session.add(target)
    await session.flush()
    return target, secret


async def rotate(session: AsyncSession, keyring: Keyring, target: WebhookTarget) -> str:
    """
    Give *target* a new secret, and call it again if it was dead.

    For a day both secrets sign. The old one is dropped at once if no key of the ring opens it.
    """
    secret = signatures.new_secret()
    try:
        previous = secrets_of(target, keyring).current
    except ValueError:
        previous = None
    renewed = Secrets(secret, previous, now_ms() + PREVIOUS_SECRET_MS)
    target.secrets = _sealed(keyring, target.id, renewed)
    target.state, target.failures = ACTIVE, 0
    target.first_failed_at = target.last_error = None
    session.add(target)
    return secret


async def find(
    session: AsyncSession, kind: str, target_id: str, *, for_update: bool = False
) -> WebhookTarget | None:
    """Return a target of owners of *kind*; None without one."""
    query = select(WebhookTarget).where(
        col(WebhookTarget.id) == target_id, col(WebhookTarget.owner_kind) == kind
    )
    return (await session.exec(query.with_for_update() if for_update else query)).first()


async def list_of(
    session: AsyncSession, kind: str, owner_ids: Sequence[str] | None = None
) -> Sequence[WebhookTarget]:
    """Return the targets of owners of *kind*, oldest first; *owner_ids* None: of all of them."""
    query = select(WebhookTarget).where(col(WebhookTarget.owner_kind) == kind)
    if owner_ids is not None:
        query = query.where(col(WebhookTarget.owner_id).in_(owner_ids))
    ordered = query.order_by(col(WebhookTarget.created_at), col(WebhookTarget.id))
    return (await session.exec(ordered)).all()


async def delete_of(session: AsyncSession, owner: Owner) -> None:
    """Delete the targets of *owner*, with the wake-ups that wait."""
    is_of_owner = (
        col(WebhookTarget.owner_kind) == owner.kind,
        col(WebhookTarget.owner_id) == owner.id,
    )
    await session.exec(delete(WebhookTarget).where(*is_of_owner))


async def count_by_state(session: AsyncSession) -> dict[str, int]:
    """Return how many targets are `active`, `failing` (the last call failed) and `dead`."""
    state = case(
        ((col(WebhookTarget.state) == ACTIVE) & (col(WebhookTarget.failures) > 0), "failing"),
        else_=col(WebhookTarget.state),
    ).label("state")
    rows = await session.exec(select(state, func.count()).group_by(state))
    return {ACTIVE: 0, "failing": 0, DEAD: 0} | dict(rows.all())


async def wake(  # noqa: PLR0913 - the parts of a wake-up
    database: Database,
    session: AsyncSession,
    target_id: str,
    topic: str,
    body: Mapping[str, Any],
    *,
    until: int | None = None,
) -> None:
    """
    Have a target called once the transaction of *session* has committed; a dead one is not called.

    A wake-up of the same target and topic that has not gone out is replaced.

    Args:
        database: The database of *session*.
        session: A write transaction.
        target_id: Of the target; unknown ids are ignored.
        topic: At most 64 characters.
        body: Ids alone: it is stored and sent in the clear.
        until: Milliseconds since the epoch after which the call is pointless; None: never.

    Raises:
        ValueError: *body* has more than `MAX_BODY` bytes.
    """
    encoded = orjson.dumps(body)
    if len(encoded) > MAX_BODY:
        raise ValueError(f"A wake-up has at most {MAX_BODY} bytes.")
    # It is kept from being deleted until the row that refers to it is stored.
    target = select(WebhookTarget.id).where(
        col(WebhookTarget.id) == target_id, col(WebhookTarget.state) == ACTIVE
    )
    locked = target.with_for_update(read=True, key_share=True)
    if (await session.exec(locked)).first() is None:
        return
    now, row = database.clock.now(), WebhookDelivery
    insert = database.insert(row).values(
        target_id=target_id,
        topic=topic,
        webhook_id=f"msg_{random.token_urlsafe(18)}",
        body=encoded.decode(),
        attempts=0,
        next_at=now,
        lease_until=0,
        expires_at=until,
    )
    soon = now + NEWER_WITHIN_MS
    next_at = case((col(row.next_at) > soon, soon), else_=col(row.next_at))
    replaced = {
        "webhook_id": insert.excluded.webhook_id,
        "body": insert.excluded.body,
        "expires_at": insert.excluded.expires_at,
        "next_at": next_at,
    }
    keys = ["target_id", "topic"]
    await session.exec(insert.on_conflict_do_update(index_elements=keys, set_=replaced))


def secrets_of(target: WebhookTarget, keyring: Keyring) -> Secrets:
    """
    Decrypt the secrets of a target.

    Raises:
        ValueError: Their key left the ring.
    """
    context = column_context("webhook_targets", target.id, "secrets")
    return msgspec.msgpack.decode(keyring.decrypt(target.secrets, context=context), type=Secrets)


def _sealed(keyring: Keyring, target_id: str, secrets: Secrets) -> bytes:
    context = column_context("webhook_targets", target_id, "secrets")
    return keyring.encrypt(msgspec.msgpack.encode(secrets), context=context)
