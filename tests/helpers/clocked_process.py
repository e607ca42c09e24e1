"""A process on a shared database; `test_wrong_clocks.py` starts it with a wrong clock."""

import asyncio
import json
import sys

from gateway.audit.retention import Retention
from gateway.errors import CommandError
from gateway.secrets.keyring import Keyring
from gateway.store.clock_check import ClockCheck
from gateway.store.database import Database
from gateway.store.idempotency.store import IdempotencyStore
from gateway.store.leases import Leases
from rest_compat.ledger import Intent

INTENT = Intent(token_id=1, method="POST", path="/send", key="k", fingerprint=b"f" * 32)
KEYRING = Keyring(["a secret of sufficient length"])
LEASE = "refresh:7"


async def attempt(url: str) -> dict[str, object]:
    """Try to take over and to delete what another process holds; return what came of it."""
    database = Database.open(url)
    leases, idempotency = Leases(database), IdempotencyStore(database, KEYRING)
    outcomes: dict[str, object] = {}
    for phase in ("unchecked", "checked"):
        outcomes[phase] = {
            "intent": type(await idempotency.begin(INTENT)).__name__,
            "swept": await idempotency.sweep(),
            "dropped": await Retention(database, days=30).drop(),
            "lease": await leases._take(LEASE, phase),
        }
        try:
            await ClockCheck(database).require_agreement()
        except CommandError as refusal:
            outcomes["refusal"] = str(refusal)
    await database.close()
    return outcomes


if __name__ == "__main__":
    print(json.dumps(asyncio.run(attempt(sys.argv[1]))))  # noqa: T201 - read by the test
