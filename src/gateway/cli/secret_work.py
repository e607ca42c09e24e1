"""What `secret rotate` does on the store."""

from typing import Any

from gateway.cli.store import opened
from gateway.cli.talk import Told
from gateway.resealing import EVERYTHING, reseal


async def rotated(told: Told) -> dict[str, Any]:
    """Seal everything again; return by table how many were `sealed`, and the rows `unreadable`."""
    done = {}
    async with opened() as (database, keyring, _):
        for sealed in EVERYTHING:
            report = await reseal(database, keyring, sealed, told=told)
            done[sealed.name] = {
                "sealed": report.changed,
                "unreadable": [str(row) for row in report.unreadable],
            }
    return done
