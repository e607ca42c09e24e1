"""
One of several processes that write the same decision log; see `test_decision_kills`.

Writes rows without end, named "<name>:<number>", and after every batch how many are stored.
"""

import asyncio
import itertools
import sys

from gateway.audit.decision import Decision
from gateway.audit.log import DecisionLog
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.timestamps import now_ms


async def work(url: str, name: str, key: str) -> None:
    database = Database.open(url)
    log = DecisionLog(database, Keyring([key]), days=30)
    for number in itertools.count():
        log.write(_row(f"{name}:{number}"), change=number % 2 == 0)
        if number % 7 == 6:
            await log.flush()
            sys.stdout.write(f"{number + 1}\n")
            sys.stdout.flush()


def _row(name: str) -> Decision:
    return Decision(
        at=now_ms(),
        request_id=name,
        token_id=1,
        operator_id="op",
        door="rest",
        surface="email",
        operation="emails",
        resource_id=None,
        outcome="allowed",
        layer=None,
        code=None,
        status=200,
        rule_id=None,
        policy_rev=1,
        hidden_fields=0,
        cost=1,
        duration=1500,
        upstream_calls=1,
        upstream_status=200,
    )


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
