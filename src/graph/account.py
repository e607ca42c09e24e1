"""Root query `accessToken`: a token's own settings (docs/spec/tokens.md#own-settings)."""

from datetime import datetime

import strawberry

from graph.context import Info
from graph.masking.guards import unguarded
from graph.scalars import JSON, Long
from policy.gates import Connection
from policy.grants import effective_operations
from policy.settings import DEFAULTS
from providers.records.base import Record


@strawberry.type(description="A connection that the token reaches.")
class TokenConnection:
    id: Long = strawberry.field(description="The connection's id; `connectionId` of a send.")
    kind: str = strawberry.field(description="`email`, `calendar`, `tasks` or `collab`.")
    provider: str = strawberry.field(description="The provider's code.")
    account_email: str = strawberry.field(description="The account's address.")
    status: str = strawberry.field(description="`active`, `needs_reauth`, `disabled` or `error`.")
    reconnect_url: str | None = strawberry.field(
        description="A link with which the owner can reconnect the account."
    )


@strawberry.type(description="The access token of this request.")
class AccessToken:
    id: Long = strawberry.field(description="The token's id.")
    name: str = strawberry.field(description="The token's name.")
    expires_at: datetime | None = strawberry.field(description="Null when it does not expire.")
    settings: JSON = strawberry.field(
        description="All settings of the token, without rule patterns."
    )
    effective_email_operations: list[str] = strawberry.field(
        description="The email operations that the token allows, with composites expanded."
    )
    effective_task_operations: list[str] = strawberry.field(
        description="The task operations that the token allows, with composites expanded."
    )
    effective_collab_operations: list[str] = strawberry.field(
        description="The collaboration operations that the token allows, with composites expanded."
    )
    connections: list[TokenConnection] = strawberry.field(
        description="The connections it may reach, in any state."
    )


class TokenConnectionView(Record, frozen=True, kw_only=True):
    id: int
    kind: str
    provider: str
    account_email: str
    status: str
    reconnect_url: str | None


class AccessTokenView(Record, frozen=True, kw_only=True):
    id: int
    name: str
    expires_at: datetime | None
    settings: dict[str, object]
    effective_email_operations: list[str]
    effective_task_operations: list[str]
    effective_collab_operations: list[str]
    connections: tuple[TokenConnectionView, ...]


@unguarded(returns=AccessToken)
async def access_token(info: Info) -> AccessTokenView:
    """Read the settings of the token in use; any valid token may."""
    caller = info.context.caller
    operations = effective_operations(caller.settings)
    return AccessTokenView(
        id=caller.token_id,
        name=caller.token_name,
        expires_at=caller.expires_at,
        settings={**DEFAULTS, **caller.settings},
        effective_email_operations=operations["effectiveEmailOperations"],
        effective_task_operations=operations["effectiveTaskOperations"],
        effective_collab_operations=operations["effectiveCollabOperations"],
        connections=tuple([_view(connection) for connection in caller.connections]),
    )


def _view(connection: Connection) -> TokenConnectionView:
    return TokenConnectionView(
        id=connection.id,
        kind=connection.kind,
        provider=connection.provider,
        account_email=connection.account_email,
        status=connection.status,
        reconnect_url=connection.reconnect_url,
    )
