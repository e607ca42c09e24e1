"""What `secret rotate` does on the store."""

from typing import Any

from gateway.cli.console import Told
from gateway.cli.stores import opened
from gateway.rule_intents.log import seal_context
from gateway.secrets.key_rotation import CREDENTIALS, SealedColumn, rotate_column
from gateway.store.tables import IdempotencyRow, OAuthAttempt, RuleIntent

# Whatever the tables keep sealed.
EVERYTHING = (
    CREDENTIALS,
    SealedColumn(table=IdempotencyRow, column="outcome", before=0),
    SealedColumn(table=OAuthAttempt, column="secret", before=""),
    SealedColumn(
        table=RuleIntent, column="trace", before=0, context=lambda row: seal_context(row.token_id)
    ),
)


async def rotated(told: Told) -> dict[str, Any]:
    """Seal everything again; return by table how many were `sealed`, and the rows `unreadable`."""
    done = {}
    async with opened() as (database, keyring, _):
        for sealed in EVERYTHING:
            report = await rotate_column(database, keyring, sealed, progress=told)
            done[sealed.name] = {
                "sealed": report.changed,
                "unreadable": [str(row) for row in report.unreadable],
            }
    return done
