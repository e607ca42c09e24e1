"""
Grants: a child token for a client, the code that it is fetched with, and its rotating secrets.

A grant ends like any token: revoked itself or with an ancestor, at its end, or with its client.
Until its code is redeemed it ends with the code. See docs/spec/sign-in.md#grants.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlmodel import col, delete, or_, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import Actor, actor, note
from gateway.audit.decision import EntryPoint
from gateway.auth import token_format, tokens
from gateway.auth.token_status import Status, status
from gateway.auth.token_views import effective_settings
from gateway.child_tokens import store as child_tokens
from gateway.sign_in.failures import SignInFailed
from gateway.sign_in.requests import AuthorizationRequest
from gateway.sign_in.views import SignInLink as ShownLink
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.sign_in_tables import OAuthGrant, SignInLink
from gateway.store.tables import AccessToken
from policy import presets

CODE_MS = 60_000
ACCESS_SECONDS = 3_600
LINK_MS = 24 * 60 * 60_000
DAY_MS = 24 * 60 * 60_000
_REFRESH = "agr_"
_SECRET = 43  # characters of 256 bits

Tokens = Mapping[str, Any]  # the body of a token response


@contextmanager
def acting(name: str, request_id: str) -> Iterator[None]:
    """Make *name* the actor of what the block changes, by sign-in."""
    reset = actor.set(Actor(name[:100], EntryPoint.SIGN_IN, request_id))
    try:
        yield
    finally:
        actor.reset(reset)


async def make_link(session: AsyncSession, token: AccessToken, base_url: str) -> ShownLink:
    """Make a one-time link by which a person grants out of *token*."""
    text, now = secrets.token_urlsafe(32), timestamps.now_ms()
    await session.exec(delete(SignInLink).where(col(SignInLink.expires_at) <= now))
    row = SignInLink(digest=digest_of(text), token_id=token.id or 0, expires_at=now + LINK_MS)
    session.add(row)
    note(session, "createSignInLink", token.id, token=token)
    return ShownLink(url=f"{base_url}/connect/{text}", expires_at=row.expires_at)


async def token_of_link(database: Database, link: bytes) -> AccessToken | None:
    """Return the token of a one-time link by its digest; None: it was used, or has ended."""
    async with database.reading() as session:
        row = await session.get(SignInLink, link)
        is_valid = row is not None and row.expires_at > timestamps.now_ms()
        return await session.get(AccessToken, row.token_id) if row and is_valid else None


@retried
async def approve(
    database: Database,
    request: AuthorizationRequest,
    *,
    preset: str,
    days: int | None,
    connections: list[int] | None,
) -> str:
    """
    Make the child token that a person grants; return the code by which the client fetches it.

    *days* None: as long as the person's token; *connections* None: all that it reaches.

    Raises:
        SignInFailed: The one-time link was used meanwhile.
        Refusal: The token may have no children, or no more of them.
    """
    code, now = secrets.token_urlsafe(32), timestamps.now_ms()
    async with database.writing() as session:
        if request.link is not None:
            link = await session.get(SignInLink, request.link, with_for_update=True)
            if link is None:
                raise SignInFailed("access_denied", "This one-time link was used already.")
            await session.delete(link)
        parent, *ancestors = chain = await child_tokens.lock(session, request.token_id or 0)
        whole = await asyncio.to_thread(effective_settings, parent, ancestors)
        child_tokens.require_children_allowed(whole, chain, allowed=request.link is not None)
        wanted = presets.presets_for(agents=bool(request.path))[preset].settings
        if connections is not None:
            wanted = {**wanted, "allowedConnectionIds": connections}
        ends = [row.expires_at for row in chain if row.expires_at is not None]
        ends += [] if days is None else [now + days * DAY_MS]
        child, _ = await child_tokens.add(
            session,
            parent,
            name=f"{request.client_name} ({request.client_host or 'registered'})"[:100],
            settings=await asyncio.to_thread(presets.settings_within, wanted, whole),
            expires_at=min([now + CODE_MS, *ends]),
            audience=request.path or None,
        )
        session.add(
            OAuthGrant(
                token_id=child.id or 0,
                client_id=request.client_id,
                redirect_uri=request.redirect_uri,
                resource=request.resource,
                scope=preset,
                challenge=request.challenge,
                code_digest=digest_of(code),
                code_until=now + CODE_MS,
                ends_at=min(ends, default=None),
            )
        )
    return code


async def redeem(database: Database, client_id: str, sent: Mapping[str, str]) -> Tokens:
    """
    Return the tokens for a code.

    Raises:
        SignInFailed: The code is unknown, of another client, used, too old, or its verifier,
            redirect URI or resource is another. A used code ends its grant.
    """

    async def exchange(session: AsyncSession) -> Tokens | None:
        digest = digest_of(sent.get("code", ""))
        grant = await _grant(session, col(OAuthGrant.code_digest) == digest, client_id)
        if grant.family_digest is not None:
            await _revoke(session, grant)
            return None
        if grant.code_until <= timestamps.now_ms():
            raise _invalid("The code is too old.")
        if sent.get("redirect_uri") != grant.redirect_uri:
            raise _invalid("The redirect_uri is not that of the code.")
        if not _verifies(sent.get("code_verifier", ""), grant.challenge):
            raise _invalid("The code_verifier does not match.")
        grant.family_digest = digest_of(family := _secret())
        return await _issue(session, grant, sent, family)

    return await _told(database, exchange, "The code was used already; its grant has ended.")


async def refresh(database: Database, client_id: str, sent: Mapping[str, str]) -> Tokens:
    """
    Return new tokens for a refresh token, which ends with it.

    Raises:
        SignInFailed: It is unknown, of another client, or was replaced, which ends its grant.
    """
    family, secret = _parts(sent.get("refresh_token", ""))

    async def exchange(session: AsyncSession) -> Tokens | None:
        of_family = col(OAuthGrant.family_digest) == digest_of(family)
        grant = await _grant(session, of_family, client_id)
        if not hmac.compare_digest(grant.refresh_digest or b"", digest_of(secret)):
            await _revoke(session, grant)
            return None
        if grant.scope not in sent.get("scope", grant.scope).split():
            raise SignInFailed("invalid_scope", f"The grant has the scope {grant.scope}.")
        return await _issue(session, grant, sent, family)

    return await _told(database, exchange, "The refresh token was replaced; its grant has ended.")


@retried
async def revoke(database: Database, client_id: str, text: str) -> None:
    """
    End the grant of an access token or a refresh token; an unknown one has ended already.

    Raises:
        SignInFailed: It is another client's.
    """
    access, (family, _) = token_format.digest(text) or b"", _parts(text)
    async with database.writing() as session:
        of_access = select(AccessToken.id).where(col(AccessToken.previous_digest) == access)
        of_text = or_(
            col(OAuthGrant.token_id).in_(of_access),
            col(OAuthGrant.family_digest) == digest_of(family),
        )
        grant = (await session.exec(select(OAuthGrant).where(of_text))).first()
        if grant is not None and grant.client_id != client_id:
            raise _invalid("The token was granted to another client.")
        if grant is not None:
            await _revoke(session, grant)


@retried
async def _told(
    database: Database,
    exchange: Callable[[AsyncSession], Coroutine[Any, Any, Tokens | None]],
    replayed: str,
) -> Tokens:
    """Run *exchange* in a transaction; None: it revoked the grant, which is stored all the same."""
    async with database.writing() as session:
        issued = await exchange(session)
    if issued is None:
        raise _invalid(replayed)
    return issued


async def _grant(session: AsyncSession, condition: Any, client_id: str) -> OAuthGrant:
    grant = (await session.exec(select(OAuthGrant).where(condition).with_for_update())).first()
    if grant is None or grant.client_id != client_id:
        raise _invalid("The code or the refresh token is unknown, or another client's.")
    return grant


async def _issue(
    session: AsyncSession, grant: OAuthGrant, sent: Mapping[str, str], family: str
) -> Tokens:
    """Give the token of *grant* a new secret, and the grant a new refresh token."""
    if sent.get("resource", grant.resource) != grant.resource:
        raise SignInFailed("invalid_target", f"The grant is for the resource {grant.resource}.")
    now = timestamps.now_ms()
    chain = await child_tokens.lock(session, grant.token_id)
    if any(status(row, now) is not Status.ACTIVE for row in chain):
        raise _invalid("The grant has ended.")
    token, secret = chain[0], _secret()
    token.expires_at = grant.ends_at
    left = ACCESS_SECONDS if grant.ends_at is None else (grant.ends_at - now) // 1000
    seconds = min(ACCESS_SECONDS, left)
    access = await tokens.issue(session, token, seconds=seconds)
    grant.refresh_digest = digest_of(secret)
    session.add(grant)
    note(session, "rotateToken", token.id, token=token)
    return {
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": seconds,
        "refresh_token": f"{_REFRESH}{family}{secret}",
        "scope": grant.scope,
    }


async def _revoke(session: AsyncSession, grant: OAuthGrant) -> None:
    token = await session.get(AccessToken, grant.token_id, with_for_update=True)
    if token is not None and token.revoked_at is None:
        await tokens.revoke(session, col(AccessToken.id) == grant.token_id)
        await session.refresh(token)
        note(session, "revokeToken", token.id, token=token)


def _verifies(verifier: str, challenge: str) -> bool:
    """Return whether *verifier* is that of a *challenge* of the method S256 (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode("utf-8", "replace")).digest()
    made = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return 43 <= len(verifier) <= 128 and hmac.compare_digest(made, challenge)


def _parts(refresh_token: str) -> tuple[str, str]:
    """Return the family and the secret of a refresh token; empty ones match no grant."""
    text = refresh_token.removeprefix(_REFRESH)
    is_whole = len(text) == 2 * _SECRET and len(refresh_token) > len(text)
    return (text[:_SECRET], text[_SECRET:]) if is_whole else ("", "")


def _secret() -> str:
    return secrets.token_urlsafe(32)


def digest_of(text: str) -> bytes:
    """Return the SHA-256 of a secret, which is all that is stored of it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _invalid(message: str) -> SignInFailed:
    return SignInFailed("invalid_grant", message)
