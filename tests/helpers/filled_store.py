"""Stores with any number of operators, accounts, tokens and rows, on both databases."""

import uuid
from pathlib import Path
from typing import Any

import orjson
from database_servers import PostgresServer
from expired_rows import KEYRING, KINDS, execute, run_script
from sqlalchemy import insert, make_url
from sqlalchemy.ext.asyncio import create_async_engine

from gateway.auth import token_format
from gateway.secrets.keyring import column_context
from gateway.store.database import Database
from gateway.store.tables import (
    AccessToken,
    ConnectionRow,
    Operator,
    OperatorResource,
    Resource,
    TokenResource,
)
from gateway.store.timestamps import now_ms

_INSERTED = 5000  # rows of one statement


async def new_database(server: PostgresServer | None, folder: Path, name: str) -> str:
    """Make an empty database *name* on *server*, or a file in *folder*; return its URL."""
    if server is None:
        url = f"sqlite+aiosqlite:///{folder / name}.db"
    else:
        await execute(server.url, f"CREATE DATABASE {name}")
        url = make_url(server.url).set(database=name).render_as_string(hide_password=False)
    database = Database.open(url)
    await database.migrate()
    await database.close()
    return url


async def fill(
    url: str,
    *,
    tokens: int,
    owners: int,
    settings: dict[str, Any],
    access_token: str = "an-upstream-token",
) -> list[str]:
    """
    Store *owners* operators, each with a resource and a mailbox of provider B, and *tokens*.

    Token number n belongs to operator n modulo *owners*. *access_token* is that of all mailboxes.

    Returns:
        The texts of the tokens.
    """
    numbers = range(1, owners + 1)
    made = [token_format.from_bits(2**200 + n) for n in range(tokens)]
    rows: dict[Any, list[dict[str, Any]]] = {
        Operator: [
            {"id": _operator(n), "email": f"{n}@x.example", "display_name": "O"} for n in numbers
        ],
        Resource: [{"id": n, "name": f"r{n}"} for n in numbers],
        OperatorResource: [{"operator_id": _operator(n), "resource_id": n} for n in numbers],
        ConnectionRow: [_connection(n, access_token) for n in numbers],
        AccessToken: [
            {
                "id": n + 1,
                "name": f"t{n}",
                "key_id": token.key_id,
                "digest": token.digest,
                "operator_id": _operator(n % owners + 1),
                "settings": settings,
                "policy_rev": 1,
            }
            for n, token in enumerate(made)
        ],
        TokenResource: [{"token_id": n + 1, "resource_id": n % owners + 1} for n in range(tokens)],
    }
    engine, now = create_async_engine(url), now_ms()
    for table, values in rows.items():
        if "created_at" in table.model_fields:
            for row in values:
                row["created_at"] = now
        for first in range(0, len(values), _INSERTED):
            async with engine.begin() as connection:
                await connection.execute(insert(table.__table__), values[first : first + _INSERTED])
    await engine.dispose()
    return [token.text for token in made]


async def fill_rows(url: str, kind: str, rows: int) -> None:
    """Store *rows* rows of a kind of `expired_rows`, none of which is expired."""
    database, now = Database.open(url), now_ms()
    await run_script(database, KINDS[kind].fill, rows=rows, at=f"{now} - n", chain=str(now))
    await database.close()


def _operator(number: int) -> str:
    return str(uuid.UUID(int=number))


def _connection(number: int, access_token: str) -> dict[str, Any]:
    context = column_context("connections", number, "credentials")
    credentials = orjson.dumps({"accessToken": access_token})
    return {
        "id": number,
        "resource_id": number,
        "operator_id": _operator(number),
        "kind": "email",
        "provider": "PROVIDER_B",
        "account_email": f"{number}@x.example",
        "granted_scopes": ["Mail.ReadWrite", "Mail.Send"],
        "can_write": True,
        "status": "active",
        "selected_site_ids": [],
        "credentials": KEYRING.encrypt(credentials, context=context),
        "updated_at": now_ms(),
    }
