"""Whether stored credentials open, how connections fare, and whether upstreams are reached."""

import asyncio
import ssl
from collections.abc import Iterable
from urllib.parse import urlsplit

from sqlmodel import col, select

from gateway.cli.checkup.findings import Finding, fail, ok, warn
from gateway.secrets.keyring import Keyring, place
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow

PATIENCE = 5.0  # seconds that an upstream gets to accept a connection


async def credentials(store: Database, keyring: Keyring) -> Finding:
    """Open every stored credential, and see under which key it is."""
    name = "credentials"
    lost, old, good = [], 0, 0
    async with store.reading() as session:
        rows = await session.exec(
            select(ConnectionRow.id, ConnectionRow.credentials).where(
                col(ConnectionRow.credentials).is_not(None)
            )
        )
        for number, sealed in rows:
            try:
                kept = place("connections", number or 0, "credentials")
                renewed = keyring.rotate(sealed or b"", place=kept)
                keyring.decrypt(sealed or b"", place=kept)
            except ValueError:
                lost.append(str(number))
                continue
            good += 1
            old += renewed is not None
    if lost:
        remedy = "Put their key back into AGW_SECRET_KEYS, or connect these accounts again."
        return fail(name, f"no key opens those of connections {', '.join(lost)}", remedy)
    if old:
        remedy = "`access-gateway secret rotate` seals them under the first key."
        return warn(name, f"{old} of {good} are under an older key", remedy)
    return ok(name, f"{good} stored, all under the first key")


async def connections(store: Database) -> Finding:
    """Count the connections by how they fare."""
    async with store.reading() as session:
        rows = (
            await session.exec(
                select(ConnectionRow.id, ConnectionRow.status).order_by(col(ConnectionRow.id))
            )
        ).all()
    by_status: dict[str, list[str]] = {}
    for number, status in rows:
        by_status.setdefault(status, []).append(str(number))
    said = ", ".join(f"{len(ids)} {status}" for status, ids in sorted(by_status.items()))
    if waiting := by_status.get("needs_reauth"):
        remedy = "`access-gateway connection reauthorise ID`, or their owners' reconnect links."
        return warn("connections", f"{said}: {', '.join(waiting)} need a person", remedy)
    if failing := by_status.get("error"):
        remedy = "`access-gateway connection test ID` tells what is wrong."
        return warn("connections", f"{said}: {', '.join(failing)} fail", remedy)
    return ok("connections", said or "none yet")


async def providers(store: Database, settings: Settings) -> Finding:
    """Open a connection to every upstream that a connected account needs."""
    name = "providers"
    if settings.sandbox:
        return ok(name, "sandbox upstreams, in the gateway itself")
    async with store.reading() as session:
        rows = (
            await session.exec(
                select(ConnectionRow.kind, ConnectionRow.provider, ConnectionRow.base_url).where(
                    col(ConnectionRow.status) != "disabled"
                )
            )
        ).all()
    origins = _origins(url or settings.upstreams.get((kind, code), "") for kind, code, url in rows)
    reached = await asyncio.gather(*map(_reached, origins))
    silent = [f"{place[1]}: {why}" for place, why in zip(origins, reached, strict=True) if why]
    if silent:
        remedy = "Check the network, the proxy and the base URLs of the settings."
        return fail(name, "; ".join(silent), remedy)
    return ok(name, f"{len(origins)} reached" if origins else "none needed yet")


def _origins(urls: Iterable[str]) -> list[tuple[str, str, int]]:
    """Return the different (scheme, host, port) of *urls*."""
    found = set()
    for url in urls:
        parts = urlsplit(url)
        if parts.hostname:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            found.add((parts.scheme, parts.hostname, port))
    return sorted(found)


async def _reached(origin: tuple[str, str, int]) -> str | None:
    """Return why *origin* cannot be reached; None when it can."""
    scheme, host, port = origin
    tls = ssl.create_default_context() if scheme == "https" else None
    try:
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(host, port, ssl=tls)
    except TimeoutError:
        return "no answer in time"
    except OSError as problem:
        return problem.strerror or str(problem)
    writer.close()
    return None
