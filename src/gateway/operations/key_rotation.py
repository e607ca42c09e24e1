"""Rotates the secret keys: reseals everything that is stored under the first key."""

from collections.abc import Callable
from typing import Any

from gateway.rule_intents.log import seal_context
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.sealed_columns import CREDENTIALS, SealedColumn, rotate_column
from gateway.store.tables import IdempotencyRow, OAuthAttempt, RuleIntent

SEALED_COLUMNS = (
    CREDENTIALS,
    SealedColumn(table=IdempotencyRow, column="outcome", before=0),
    SealedColumn(table=OAuthAttempt, column="secret", before=""),
    SealedColumn(
        table=RuleIntent, column="trace", before=0, context=lambda row: seal_context(row.token_id)
    ),
)


async def rotate(
    database: Database, keyring: Keyring, progress: Callable[[int, int | None], None]
) -> dict[str, Any]:
    """
    Reseal every column; *progress* is called with the rows done and their total, if known.

    Returns:
        Table -> the number of `sealed` rows, and the ids of the `unreadable` ones.
    """
    report = {}
    for column in SEALED_COLUMNS:
        result = await rotate_column(database, keyring, column, progress=progress)
        report[column.name] = {
            "sealed": result.changed,
            "unreadable": [str(row_id) for row_id in result.unreadable],
        }
    return report
