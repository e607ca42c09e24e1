"""Clients: applications that ask for grants, known to the operator or by a document of theirs."""

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field
from sqlmodel import col, delete, func, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.operations.inputs import Input, Name
from gateway.sign_in import client_documents, redirect_uris
from gateway.sign_in.client_documents import Client
from gateway.sign_in.failures import SignInFailed
from gateway.sign_in.views import ListedClient, RegisteredClient
from gateway.store import timestamps
from gateway.store.sign_in_tables import OAuthClient, OAuthGrant
from gateway.store.tables import AccessToken
from policy.refusals import InvalidInput, NotFound

if TYPE_CHECKING:
    from gateway.services import Services

MAX_CLIENTS = 1_000  # of a deployment, of each kind; docs/spec/sign-in.md#limits
UNUSED_MS = 24 * 60 * 60_000
MAX_REDIRECT_URIS = 10  # of a client


def _usable(uri: str) -> str:
    if not redirect_uris.is_usable(uri):
        raise ValueError("must be https, http on 127.0.0.1, ::1 or localhost, or an app's scheme")
    return uri


RedirectUri = Annotated[str, AfterValidator(_usable)]
RedirectUris = Annotated[list[RedirectUri], Field(min_length=1, max_length=MAX_REDIRECT_URIS)]


class NewClient(Input):
    """A client to register; *has_secret*: it proves a secret when it asks for tokens."""

    name: Name
    redirect_uris: RedirectUris
    has_secret: bool = False


async def add(
    session: AsyncSession, new: NewClient, *, by_itself: bool = False
) -> RegisteredClient:
    """
    Register a client; its secret, if any, is in the returned object and is never seen again.

    *by_itself*: those that did so more than a day ago and were granted nothing make room.

    Raises:
        InvalidInput: There are too many.
    """
    of_its_kind = col(OAuthClient.is_registered_by_itself) == by_itself
    if by_itself:
        is_old = col(OAuthClient.created_at) < timestamps.now_ms() - UNUSED_MS
        is_unused = col(OAuthClient.id).not_in(select(OAuthGrant.client_id))
        await session.exec(delete(OAuthClient).where(of_its_kind, is_old, is_unused))
    count = (await session.exec(select(func.count(col(OAuthClient.id))).where(of_its_kind))).one()
    if count >= MAX_CLIENTS:
        raise InvalidInput(f"A deployment has at most {MAX_CLIENTS} clients of a kind.")
    secret = secrets.token_urlsafe(32) if new.has_secret else None
    row = OAuthClient(
        id=secrets.token_urlsafe(16),
        name=new.name,
        redirect_uris=list(new.redirect_uris),
        secret_digest=None if secret is None else _digest(secret),
        is_registered_by_itself=by_itself,
        created_at=timestamps.now_ms(),
    )
    session.add(row)
    note(session, "createClient", row.id)
    return RegisteredClient.of(_listed(row), client_secret=secret)


async def list_all(session: AsyncSession) -> list[ListedClient]:
    """Return the registered clients, oldest first."""
    rows = select(OAuthClient).order_by(col(OAuthClient.created_at), col(OAuthClient.id))
    return [_listed(row) for row in await session.exec(rows)]


async def remove(session: AsyncSession, client_id: str) -> None:
    """
    Remove a client, and revoke its grants.

    Raises:
        NotFound: There is no such client.
    """
    row = await session.get(OAuthClient, client_id)
    if row is None:
        raise NotFound("There is no such client.")
    granted = select(OAuthGrant.token_id).where(col(OAuthGrant.client_id) == client_id)
    await tokens.revoke(session, col(AccessToken.id).in_(granted))
    await session.delete(row)
    note(session, "removeClient", client_id)


async def named(services: "Services", client_id: str) -> Client:
    """
    Return the client that asks a person.

    Raises:
        SignInFailed: It is not known, or its document cannot be used.
    """
    async with services.database.reading() as session:
        row = await session.get(OAuthClient, client_id) if _can_be_id(client_id) else None
    if row is not None:
        return Client(id=row.id, name=row.name, redirect_uris=tuple(row.redirect_uris))
    if not services.settings.client_documents or not client_documents.is_url(client_id):
        raise SignInFailed("invalid_client", "This client is not registered here.", status=401)
    return await client_documents.fetch(services.accounts.origins, client_id)


async def authenticate(services: "Services", client_id: str, secret: str | None) -> str:
    """
    Return the id of the client that asks for a token or revokes one.

    The URL of a document is not fetched again: such a client is public, and PKCE ties it to the
    code that it was given.

    Raises:
        SignInFailed: It is not known, or its secret is wrong, or it has none.
    """
    async with services.database.reading() as session:
        row = await session.get(OAuthClient, client_id) if _can_be_id(client_id) else None
    is_url = services.settings.client_documents and client_documents.is_url(client_id)
    expected = None if row is None else row.secret_digest
    if row is None and not is_url:
        raise SignInFailed("invalid_client", "This client is not registered here.", status=401)
    if expected is None and secret is not None:
        raise SignInFailed("invalid_client", "This client has no secret.", status=401)
    if expected is not None and not hmac.compare_digest(expected, _digest(secret or "")):
        raise SignInFailed("invalid_client", "The client's secret is missing or wrong.", status=401)
    return client_id


def _can_be_id(text: str) -> bool:
    return 0 < len(text) <= 43 and text.isascii() and text.isprintable()


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _listed(row: OAuthClient) -> ListedClient:
    return ListedClient.of(row, client_id=row.id, has_secret=row.secret_digest is not None)
