"""
Sessions of the console: begun by an admin or an approver, and kept in the database.

The cookie has a secret of which only the SHA-256 is stored. A session ends after 30 minutes without
a request, 12 hours after its beginning, by signing out, and when the credential that began it is
no longer one: the admin token has left the deployment, or the approver was removed
(docs/spec/console.md#sessions).
"""

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

import msgspec
from sqlmodel import col, delete, or_
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.http.dispatch import CONSOLE
from gateway.operations.approvals import approvers
from gateway.operations.approvals.approvers import Approver
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.sign_in_tables import ConsoleSession

if TYPE_CHECKING:
    from gateway.services import Services

PATH = CONSOLE  # of the cookie, and of every page
COOKIE = "agw_console"
IDLE_MS = 30 * 60 * 1000
LONGEST_MS = 12 * 60 * 60 * 1000
_SEEN_MS = 60 * 1000  # a request within this time of the last one writes nothing
_CONTEXT = b"console session"
_APPROVER = "approver "  # with an id, where the row has the name of an admin token


class Session(msgspec.Struct, frozen=True):
    """
    A session that is valid now.

    Attributes:
        actor: The name of its admin token, or the approver's, as the decision log has it.
        credential: SHA-256 of the admin token, or of the approver's credential.
        form_token: The hidden member of each of its forms.
        approver: Who began it; None for an admin.
    """

    actor: str
    credential: bytes
    form_token: str
    approver: Approver | None = None


def key_of(secret: str) -> bytes:
    """Return the key under which the session of the cookie *secret* is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


@retried
async def begin(
    services: "Services", person: str | Approver, digest: bytes, *, replaced: str
) -> str:
    """
    Begin a session of a *person*, the name of an admin token or an approver; return its secret.

    *digest* is the SHA-256 of the credential, and the secret is for the cookie.

    The session of the cookie *replaced* ends, as do all that are too old.
    """
    secret, now = secrets.token_urlsafe(32), timestamps.now_ms()
    seen, started = col(ConsoleSession.seen_at), col(ConsoleSession.started_at)
    is_over = or_(
        col(ConsoleSession.digest) == key_of(replaced),
        seen <= now - IDLE_MS,
        started <= now - LONGEST_MS,
    )
    async with services.database.writing() as session:
        await session.exec(delete(ConsoleSession).where(is_over))
        session.add(
            ConsoleSession(
                digest=key_of(secret),
                admin=person if isinstance(person, str) else f"{_APPROVER}{person.id}",
                proof=services.keyring.sign(key_of(secret) + digest, context=_CONTEXT),
                started_at=now,
                seen_at=now,
            )
        )
        note(session, "signInConsole", None)
    return secret


async def find(services: "Services", secret: str) -> Session | None:
    """Return the session of the cookie *secret*; None if it is unknown or has ended."""
    now = timestamps.now_ms()
    async with services.database.reading() as session:
        row = await session.get(ConsoleSession, key_of(secret))
        if row is None or row.seen_at <= now - IDLE_MS or row.started_at <= now - LONGEST_MS:
            return None
        approver = await _approver(session, row)
    # The name of each credential that may have begun it, by its SHA-256.
    named = {digest: name for digest, name in services.admins.items() if name == row.admin}
    if approver is not None:
        named = {approver.digest: approver.actor}
    for digest, name in named.items():
        if services.keyring.verify(row.proof, row.digest + digest, context=_CONTEXT):
            if row.seen_at <= now - _SEEN_MS:
                await _see(services, row.digest, now)
            return Session(name, digest, form_token(secret), approver)
    return None


def form_token(secret: str) -> str:
    """Return the token of the forms of a session: it is derived from the secret of its cookie."""
    return hmac.new(secret.encode("utf-8", "replace"), b"form", "sha256").hexdigest()


@retried
async def end(services: "Services", secret: str) -> None:
    """End the session of the cookie *secret*."""
    async with services.database.writing() as session:
        of_secret = col(ConsoleSession.digest) == key_of(secret)
        await session.exec(delete(ConsoleSession).where(of_secret))


@retried
async def _see(services: "Services", digest: bytes, now: int) -> None:
    async with services.database.writing() as session:
        row = await session.get(ConsoleSession, digest)
        if row is not None:
            row.seen_at = now
            session.add(row)


async def _approver(session: AsyncSession, row: ConsoleSession) -> Approver | None:
    number = row.admin.removeprefix(_APPROVER)
    is_id = row.admin.startswith(_APPROVER) and number.isascii() and number.isdecimal()
    return await approvers.find(session, int(number)) if is_id else None
