"""The tables of sign-in: clients, grants, one-time links (docs/spec/sign-in.md), the console."""

import sqlalchemy as sa
from sqlmodel import Field

from gateway.store import columns


def _digest(*, nullable: bool = False) -> sa.Column[bytes]:
    return sa.Column(sa.LargeBinary(32), nullable=nullable, unique=True)


class OAuthClient(columns.Row, table=True):
    """
    An application that the operator registered, or that registered itself.

    Attributes:
        id: The client id; random.
        secret_digest: SHA-256 of its secret; None: a public client.
        is_registered_by_itself: By dynamic registration.
    """

    __tablename__ = "oauth_clients"

    id: str = Field(primary_key=True, max_length=43)
    name: str = Field(max_length=100)
    redirect_uris: list[str] = columns.json()
    secret_digest: bytes | None = Field(
        default=None, sa_column=sa.Column(sa.LargeBinary(32), nullable=True)
    )
    is_registered_by_itself: bool = Field(default=False)
    created_at: int = columns.timestamp()


class OAuthGrant(columns.Row, table=True):
    """
    A grant of the page: the child token that it is, and the client that holds it.

    Attributes:
        client_id: The id of an `OAuthClient`, or the URL of a client id metadata document.
        resource: The URI that the client asked for.
        scope: The name of the granted preset.
        challenge: Of PKCE, by S256.
        code_digest: SHA-256 of the authorization code, which stays to tell a second use.
        code_until: Until when the code can be redeemed.
        ends_at: End of the token once the code is redeemed; None: that of its parent.
        family_digest: SHA-256 of what all refresh tokens of the grant begin with; None: the code
            is not redeemed.
        refresh_digest: SHA-256 of the only refresh token that is valid.
    """

    __tablename__ = "oauth_grants"

    token_id: int = columns.foreign_key("access_tokens.id", primary_key=True)
    client_id: str = Field(sa_column=sa.Column(sa.Text(), nullable=False, index=True))
    redirect_uri: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    resource: str = Field(sa_column=sa.Column(sa.Text(), nullable=False))
    scope: str = Field(max_length=64)
    challenge: str = Field(max_length=43)
    code_digest: bytes = Field(sa_column=_digest())
    code_until: int = columns.timestamp()
    ends_at: int | None = columns.timestamp(nullable=True)
    family_digest: bytes | None = Field(default=None, sa_column=_digest(nullable=True))
    refresh_digest: bytes | None = Field(
        default=None, sa_column=sa.Column(sa.LargeBinary(32), nullable=True)
    )


class SignInLink(columns.Row, table=True):
    """A one-time link by which a person grants out of a token; its text is not stored."""

    __tablename__ = "sign_in_links"

    digest: bytes = Field(sa_column=sa.Column(sa.LargeBinary(32), primary_key=True))
    token_id: int = columns.foreign_key("access_tokens.id", index=True)
    expires_at: int = columns.timestamp()


class ConsoleSession(columns.Row, table=True):
    """
    A session of the console (docs/spec/console.md#sessions).

    Attributes:
        digest: SHA-256 of the secret in the cookie, which is not stored.
        admin: The name of the admin token.
        proof: Signature over the secret and the admin token, so that it ends with either.
        seen_at: Time of the last request, to the minute.
    """

    __tablename__ = "console_sessions"

    digest: bytes = Field(sa_column=sa.Column(sa.LargeBinary(32), primary_key=True))
    admin: str = Field(max_length=64)
    proof: str = Field(max_length=64)
    started_at: int = columns.timestamp()
    seen_at: int = columns.timestamp()
