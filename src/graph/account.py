"""
Root queries about the token in use: its settings, and its writes that wait for a person.

See docs/spec/tokens.md#own-settings and docs/spec/held-writes.md#reading-it.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import strawberry

from graph.context import Info
from graph.held_write_port import PendingWrite
from graph.masking.guards import unguarded
from graph.output_types import output, visible
from graph.scalars import JSON, Long
from policy.gates import Connection
from policy.grants import effective_operations
from policy.refusals import NotFound
from policy.settings import DEFAULTS
from policy.vocabulary import Code, Layer
from providers.catalogue import causes
from providers.catalogue.causes import Cause
from providers.records.base import Record


@strawberry.enum(graphql_name_from="value", description="Why a connection stopped working.")
class ConnectionCause(StrEnum):
    locals().update({cause.value: cause.value for cause in Cause})


@output
class TokenConnection(Record, frozen=True, kw_only=True):
    """A connection that the token reaches."""

    id: Annotated[int, visible("The connection's id; `connectionId` of a send.", graphql_type=Long)]
    kind: Annotated[str, visible("`email`, `calendar`, `tasks` or `collab`.")]
    provider: Annotated[str, visible("The provider's code.")]
    account_email: Annotated[str, visible("The account's address.")]
    status: Annotated[str, visible("`active`, `needs_reauth`, `disabled` or `error`.")]
    reconnect_url: Annotated[
        str | None, visible("A link with which the owner can reconnect the account.")
    ]
    cause: Annotated[
        Cause | None,
        visible(
            "The cause of a status other than `active`; null when nothing tells.",
            graphql_type=ConnectionCause | None,
        ),
    ]
    expires_at: Annotated[
        datetime | None,
        visible("When the credentials end and must be renewed; null when nothing tells."),
    ]


@output
class AccessToken(Record, frozen=True, kw_only=True):
    """The access token of this request."""

    id: Annotated[int, visible("The token's id.", graphql_type=Long)]
    name: Annotated[str, visible("The token's name.")]
    expires_at: Annotated[datetime | None, visible("Null when it does not expire.")]
    settings: Annotated[
        dict[str, object],
        visible("All settings of the token, without rule patterns.", graphql_type=JSON),
    ]
    effective_email_operations: Annotated[
        list[str], visible("The email operations that the token allows, with composites expanded.")
    ]
    effective_task_operations: Annotated[
        list[str], visible("The task operations that the token allows, with composites expanded.")
    ]
    effective_collab_operations: Annotated[
        list[str],
        visible("The collaboration operations that the token allows, with composites expanded."),
    ]
    connections: Annotated[
        tuple[TokenConnection, ...], visible("The connections it may reach, in any state.")
    ]


@unguarded()
async def access_token(info: Info) -> AccessToken:
    """Read the settings of the token in use; any valid token may."""
    caller = info.context.caller
    operations = effective_operations(caller.settings)
    return AccessToken(
        id=caller.token_id,
        name=caller.token_name,
        expires_at=caller.expires_at,
        settings={**DEFAULTS, **caller.settings},
        effective_email_operations=operations["effectiveEmailOperations"],
        effective_task_operations=operations["effectiveTaskOperations"],
        effective_collab_operations=operations["effectiveCollabOperations"],
        connections=tuple([_view(connection) for connection in caller.connections]),
    )


def _view(connection: Connection) -> TokenConnection:
    return TokenConnection(
        id=connection.id,
        kind=connection.kind,
        provider=connection.provider,
        account_email=connection.account_email,
        status=connection.status,
        reconnect_url=connection.reconnect_url,
        cause=causes.known(connection.cause),
        expires_at=_moment(connection.expires_at),
    )


def _moment(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


@unguarded()
async def pending_write(
    info: Info,
    write_id: Annotated[
        str, strawberry.argument(name="id", description="As the held call returned it.")
    ],
) -> PendingWrite:
    """Read the state of a write of the token in use that waits, or waited, for a person."""
    context = info.context
    if context.held_writes is None:
        raise NotFound("There is no such write.", code=Code.NOT_FOUND, layer=Layer.INPUT)
    context.has_waited = context.wait > 0
    return await context.held_writes.get(write_id, wait=context.wait, visibility=context.visibility)
