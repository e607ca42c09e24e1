"""
Access tokens as rows: create, change, rotate, revoke. See docs/spec/tokens.md#settings.

Every change that can alter a decision raises `policy_rev` in its transaction, so that no process
uses outdated compiled policy for a later request.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Select, delete, update
from sqlalchemy import select as sa_select
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import token_format
from gateway.auth.token_status import Status
from gateway.store import timestamps
from gateway.store.tables import AccessToken, TokenResource


class Revoked(Exception):
    """A revoked token cannot get a new secret."""


async def create(  # noqa: PLR0913 - the properties of a token
    session: AsyncSession,
    *,
    name: str,
    operator_id: str,
    resource_ids: Iterable[int],
    expires_at: int | None,
    settings: Mapping[str, object],
    secret: token_format.GeneratedToken | None = None,
    parent_id: int | None = None,
    audience: str | None = None,
) -> tuple[AccessToken, str]:
    """
    Store a new token; return it with its text, which is not stored.

    *settings* is the full, validated object, *expires_at* in milliseconds.
    """
    generated = secret or token_format.generate()
    token = AccessToken(
        name=name,
        key_id=generated.key_id,
        digest=generated.digest,
        operator_id=operator_id,
        parent_id=parent_id,
        audience=audience,
        settings=dict(settings),
        created_at=timestamps.now_ms(),
        expires_at=expires_at,
    )
    session.add(token)
    await session.flush()
    await replace_resources(session, token, resource_ids)
    return token, generated.text


async def replace_resources(
    session: AsyncSession, token: AccessToken, resource_ids: Iterable[int]
) -> None:
    """Replace the resources of *token* by *resource_ids*."""
    await session.exec(delete(TokenResource).where(col(TokenResource.token_id) == token.id))
    for resource_id in dict.fromkeys(resource_ids):
        session.add(TokenResource(token_id=_id(token), resource_id=resource_id))
    await session.flush()


async def rotate(session: AsyncSession, token: AccessToken, *, grace_seconds: int) -> str:
    """
    Give *token* a new secret; the old one is accepted for *grace_seconds* more.

    Raises:
        Revoked: The token is revoked.
    """
    if token.revoked_at is not None:
        raise Revoked
    generated = token_format.generate()
    token.previous_digest = token.digest
    token.previous_until = timestamps.now_ms() + grace_seconds * 1000
    token.digest = generated.digest
    token.key_id = generated.key_id
    session.add(token)
    await session.flush()
    return generated.text


async def issue(session: AsyncSession, token: AccessToken, *, seconds: int) -> str:
    """
    Give *token* a new secret that ends by itself after *seconds*; the old one ends at once.

    It is stored as a secret that was replaced and is accepted still; no client has the current one.
    """
    generated = token_format.generate()
    token.previous_digest = generated.digest
    token.previous_until = timestamps.now_ms() + seconds * 1000
    token.digest = token_format.generate().digest
    token.key_id = generated.key_id
    session.add(token)
    await session.flush()
    return generated.text


async def revoke(session: AsyncSession, *conditions: ColumnElement[bool]) -> None:
    """Revoke the tokens that match *conditions* and their descendants; revoked ones stay so."""
    await session.exec(
        update(AccessToken)
        .where(col(AccessToken.revoked_at).is_(None), col(AccessToken.id).in_(_trees(*conditions)))
        .values(revoked_at=timestamps.now_ms(), policy_rev=AccessToken.policy_rev + 1)
    )


async def shorten_children(session: AsyncSession, token: AccessToken) -> None:
    """End the descendants of *token* with it, at the latest."""
    ends = col(AccessToken.expires_at)
    if token.expires_at is not None:
        await session.exec(
            update(AccessToken)
            .where(
                col(AccessToken.id).in_(_trees(col(AccessToken.parent_id) == token.id)),
                ends.is_(None) | (ends > token.expires_at),
            )
            .values(expires_at=token.expires_at)
        )


def _trees(*conditions: ColumnElement[bool]) -> Select[tuple[int]]:
    """Return the query of the ids of tokens that match *conditions*, and of their descendants."""
    ids = select(col(AccessToken.id)).where(*conditions).cte("trees", recursive=True)
    children = sa_select(col(AccessToken.id)).where(col(AccessToken.parent_id) == ids.c.id)
    return sa_select(ids.union(children).c.id)


async def ancestors_of(
    session: AsyncSession, tokens: Sequence[AccessToken]
) -> Mapping[int, tuple[AccessToken, ...]]:
    """Return the ancestors of each of *tokens*, the parent first."""
    known = {_id(token): token for token in tokens}
    while (
        missing := {token.parent_id for token in known.values() if token.parent_id is not None}
        - known.keys()
    ):
        parents = (
            await session.exec(select(AccessToken).where(col(AccessToken.id).in_(missing)))
        ).all()
        known.update({_id(parent): parent for parent in parents})
        if len(parents) < len(missing):
            raise LookupError("a child token has lost its parent")
    ancestors = {}
    for token in tokens:
        chain, parent_id = [], token.parent_id
        while parent_id is not None:
            chain.append(known[parent_id])
            parent_id = chain[-1].parent_id
        ancestors[_id(token)] = tuple(chain)
    return ancestors


async def bump_policy_rev(session: AsyncSession, resource_ids: Iterable[int]) -> None:
    """Raise `policy_rev` of every token linked to one of *resource_ids*."""
    linked = select(TokenResource.token_id).where(
        col(TokenResource.resource_id).in_(list(resource_ids))
    )
    await session.exec(
        update(AccessToken)
        .where(col(AccessToken.id).in_(linked))
        .values(policy_rev=AccessToken.policy_rev + 1)
    )


async def resources_of(
    session: AsyncSession, tokens: Sequence[AccessToken]
) -> Mapping[int, list[int]]:
    """Return the resource ids of each of *tokens*, ascending."""
    token_ids = [_id(token) for token in tokens]
    links = await session.exec(
        select(TokenResource)
        .where(col(TokenResource.token_id).in_(token_ids))
        .order_by(col(TokenResource.resource_id))
    )
    linked: dict[int, list[int]] = {token_id: [] for token_id in token_ids}
    for row in links:
        linked[row.token_id].append(row.resource_id)
    return linked


def status_conditions(status: Status, now: int) -> tuple[ColumnElement[bool], ...]:
    """Return the SQL conditions of *status* at *now*, in milliseconds."""
    revoked, expires = col(AccessToken.revoked_at), col(AccessToken.expires_at)
    match status:
        case Status.REVOKED:
            return (revoked.is_not(None),)
        case Status.EXPIRED:
            return (revoked.is_(None), expires <= now)
        case Status.ACTIVE:
            return (revoked.is_(None), expires.is_(None) | (expires > now))


def _id(token: AccessToken) -> int:
    if token.id is None:
        raise LookupError("a token that is not stored yet has no id")
    return token.id
