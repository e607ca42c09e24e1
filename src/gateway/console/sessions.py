"""
Sessions of the console: begun with an admin token, and kept in the database.

The cookie has a secret of which only the SHA-256 is stored. A session ends after 30 minutes without
a request, 12 hours after its beginning, by signing out, and when the admin token that began it is
no longer one of the deployment (docs/spec/console.md#sessions).
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from sqlmodel import col, delete, or_

from gateway.audit.changes import note
from gateway.http.dispatch import CONSOLE
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


class Session(msgspec.Struct, frozen=True):
    """
    A session that is valid now.

    Attributes:
        admin: The name of its admin token.
        form_token: The hidden member of each of its forms.
    """

    admin: str
    form_token: str


def key_of(secret: str) -> bytes:
    """Return the key under which the session of the cookie *secret* is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


@retried
async def begin(services: "Services", admin: bytes, *, replaced: str) -> str:
    """
    Begin a session with the admin token whose SHA-256 is *admin*; return the secret of its cookie.

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
                admin=services.admins[admin],
                proof=services.keyring.sign(key_of(secret) + admin, context=_CONTEXT),
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
    if not _is_proved(services.admins, row, services):
        return None
    if row.seen_at <= now - _SEEN_MS:
        await _see(services, row.digest, now)
    return Session(row.admin, form_token(secret))


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


def _is_proved(admins: Mapping[bytes, str], row: ConsoleSession, services: "Services") -> bool:
    """Return whether the admin token that began the session is still one, with its name."""
    return any(
        name == row.admin
        and services.keyring.verify(row.proof, row.digest + digest, context=_CONTEXT)
        for digest, name in admins.items()
    )
