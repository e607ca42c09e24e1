"""Root query `accessToken`: a token's own settings (docs/spec/tokens.md#own-settings)."""

from datetime import datetime

import strawberry

from graph.context import Info
from graph.masking.guards import unguarded
from graph.scalars import JSON, Long
from policy.gates import Connection
from policy.grants import effective_operations
from providers.records.base import Record


@strawberry.type(description="A connection on the token's resources.")
class TokenConnection:
    id: Long = strawberry.field(description="The connection's id; `connectionId` of a send.")
    kind: str = strawberry.field(description="`email`, `calendar`, `tasks` or `collab`.")
    provider: str = strawberry.field(description="The provider's code.")
    account_email: str = strawberry.field(description="The account's address.")
    status: str = strawberry.field(description="`active`, `needs_reauth`, `disabled` or `error`.")
    reconnect_url: str | None = strawberry.field(
        description="Where a person can reconnect the account."
    )


@strawberry.type(description="The access token of this request.")
class AccessToken:
    id: Long = strawberry.field(description="The token's id.")
    name: str = strawberry.field(description="The token's name.")
    expires_at: datetime | None = strawberry.field(description="Null when it does not expire.")
    settings: JSON = strawberry.field(description="Every setting, without rule patterns.")
    effective_email_operations: list[str] = strawberry.field(
        description="The email operations it allows, composites expanded."
    )
    effective_task_operations: list[str] = strawberry.field(
        description="The task operations it allows, composites expanded."
    )
    effective_collab_operations: list[str] = strawberry.field(
        description="The collaboration operations it allows, composites expanded."
    )
    connections: list[TokenConnection] = strawberry.field(
        description="The connections it may reach, in any state."
    )


class AccessTokenView(Record, frozen=True, kw_only=True):
    id: int
    name: str
    expires_at: datetime | None
    settings: dict[str, object]
    effective_email_operations: list[str]
    effective_task_operations: list[str]
    effective_collab_operations: list[str]
    connections: tuple[Connection, ...]


@unguarded(returns=AccessToken)
async def access_token(info: Info) -> AccessTokenView:
    """Read the settings of the token in use; any valid token may."""
    caller = info.context.caller
    operations = effective_operations(caller.settings)
    return AccessTokenView(
        id=caller.token_id,
        name=caller.token_name,
        expires_at=caller.expires_at,
        settings=dict(caller.settings),
        effective_email_operations=operations["effectiveEmailOperations"],
        effective_task_operations=operations["effectiveTaskOperations"],
        effective_collab_operations=operations["effectiveCollabOperations"],
        connections=caller.connections,
    )
