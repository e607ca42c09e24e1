"""Check of the own mail servers that connections use: names, ports, certificates, encryption."""

import asyncio
import time
from collections.abc import Iterator

from sqlmodel import col, select

from gateway.cli.checkup.findings import Finding, fail, ok
from gateway.connections import rows as connection_rows
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow
from providers.failures import ProviderFailure
from providers.imap.accounts import Account
from providers.imap.connecting import remedy_of
from providers.imap.endpoints import Endpoint
from providers.imap.session import Session
from providers.imap.submission import Submission

NAME = "own servers"
_SECONDS = 5.0
_CONCURRENT = 16


async def own_servers(store: Database, keyring: Keyring) -> Finding:
    """Connect to each mail server as far as the login, which is not tried."""
    async with store.reading() as session:
        rows = (
            await session.exec(
                select(ConnectionRow).where(
                    col(ConnectionRow.provider) == "IMAP", col(ConnectionRow.status) != "disabled"
                )
            )
        ).all()
    servers = sorted({server for row in rows for server in _servers(row, keyring)})
    limit = asyncio.Semaphore(_CONCURRENT)
    failures = await asyncio.gather(*(_failure(*server, limit) for server in servers))
    unreached = {
        url: failure for (_, url), failure in zip(servers, failures, strict=True) if failure
    }
    if not unreached:
        return ok(NAME, f"{len(servers)} answer" if servers else "none needed yet")
    remedies = dict.fromkeys(filter(None, map(remedy_of, unreached.values())))
    detail = " ".join(f"{url}: {failure}" for url, failure in unreached.items())
    return fail(NAME, detail, " ".join(remedies) or "Check the network and the server's log.")


def _servers(row: ConnectionRow, keyring: Keyring) -> Iterator[tuple[str, str]]:
    """Yield protocol and address of each server of a connection."""
    if row.base_url:
        yield "imap", row.base_url
    try:
        stored = connection_rows.unseal(row, keyring)
    except ValueError:  # the check of credentials reports it
        return
    if "submissionUrl" in stored:
        yield "smtp", str(stored["submissionUrl"])


async def _failure(protocol: str, url: str, limit: asyncio.Semaphore) -> str | None:
    """Return why a server cannot be used; None when it can."""
    try:
        account = Account(Endpoint.parse(url, protocol), "", "")
    except ValueError as failure:
        return str(failure)
    try:
        async with limit:
            if protocol == "imap":
                (await Session.open(account)).close()
            else:
                ends = time.monotonic() + _SECONDS
                (await Submission.open(account, ends=ends)).close()
    except ProviderFailure as failure:
        return failure.message
    return None
