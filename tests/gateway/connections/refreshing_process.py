"""
One of several processes that renew the same connection; see `test_refresh_race`.

Waits for a line on standard input, asks for the token many times at once, writes what it got as a
line of JSON; ends with its input.
"""

import asyncio
import json
import sys

from gateway.auth.token_lookup import open_row_reader
from gateway.connections.credentials import CredentialRepository
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.leases import Leases
from providers.http.origins import Origins

CALLERS = 60


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def work(url: str, login: str) -> None:
    settings = Settings(
        _env_file=None,
        oauth_b_url=login,
        provider_b_client_id="gateway",
        provider_b_client_secret="its secret",
    )
    database, origins = Database.open(url), Origins()
    lookup = open_row_reader(database)
    vault = CredentialRepository(
        lookup,
        database,
        Keyring(["a secret key of the tests"]),
        endpoints=TokenEndpoints(origins, settings).token_endpoint,
        leases=Leases(database),
    )
    tell("ready")
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        requests = (vault.for_connection(1).token() for _ in range(CALLERS))
        got = await asyncio.gather(*requests, return_exceptions=True)
        tell(json.dumps(sorted({str(token) for token in got})))
    lookup.close()
    await origins.aclose()
    await database.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
