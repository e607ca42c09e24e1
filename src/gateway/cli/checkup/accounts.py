"""Checks of accounts: stored credentials, the status of connections, reachable upstreams."""

import asyncio
import ssl
from collections.abc import Iterable
from urllib.parse import urlsplit

from sqlmodel import and_, col, select

from gateway.auth.token_status import Status
from gateway.cli.checkup.findings import Finding, fail, ok, warn
from gateway.connections import expiry, shared
from gateway.connections.rows import SENDING_REFUSED
from gateway.operations import decisions, tokens
from gateway.operations.key_rotation import credential_keys
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow, OperatorResource
from providers.catalogue import causes
from providers.catalogue.tables import WITHOUT_HTTP

TIMEOUT_SECONDS = 5.0  # for an upstream to accept a connection


async def credentials(store: Database, keyring: Keyring) -> Finding:
    """Open all stored credentials, and count those that are encrypted with an older key."""
    name = "credentials"
    keys = await credential_keys(store, keyring)
    if keys.unreadable:
        remedy = "Put their key back into AGW_SECRET_KEYS, or connect these accounts again."
        connections = ", ".join(map(str, keys.unreadable))
        return fail(name, f"no key opens those of connections {connections}", remedy)
    if keys.older:
        remedy = "`access-gateway secret rotate` encrypts them with the first key."
        return warn(
            name, f"{keys.older} of {keys.readable} are encrypted with an older key", remedy
        )
    return ok(name, f"{keys.readable} stored, all encrypted with the first key")


async def decision_log(store: Database, keyring: Keyring) -> Finding:
    """Check that the decision log can be verified with the first key alone."""
    if older := await decisions.count_older_chains(store, keyring):
        remedy = "`access-gateway secret rotate` signs those whose keys AGW_SECRET_KEYS has."
        return warn("decision log", f"{older} chains are signed with another key", remedy)
    return ok("decision log", "signed with the first key")


async def connections(store: Database) -> Finding:
    """Count the connections by status, and find those that no token reaches for want of a link."""
    async with store.reading() as session:
        rows = (
            await session.exec(
                select(ConnectionRow, shared.STATUS, shared.CAUSE, OperatorResource.operator_id)
                .outerjoin(shared.BASE, shared.IS_ON_BASE)
                .outerjoin(
                    OperatorResource,
                    and_(
                        col(OperatorResource.operator_id) == col(ConnectionRow.operator_id),
                        col(OperatorResource.resource_id) == col(ConnectionRow.resource_id),
                    ),
                )
                .order_by(col(ConnectionRow.id))
            )
        ).all()
    by_status: dict[str, list[str]] = {}
    remedies: dict[str, None] = {}
    for row, status, code, _ in rows:
        cause = causes.known(code)
        named = f"{row.id}" if cause is None else f"{row.id} ({cause.value})"
        by_status.setdefault(status, []).append(named)
        if cause is not None and cause.remedy:
            remedies[cause.remedy] = None
    counts = ", ".join(f"{len(ids)} {status}" for status, ids in sorted(by_status.items()))
    if waiting := by_status.get("needs_reauth"):
        remedy = "`access-gateway connection reconnect ID`, or their owners' reconnect links."
        remedy = " ".join((*remedies, remedy))
        return warn("connections", f"{counts}: {', '.join(waiting)} need a person", remedy)
    if failing := by_status.get("error"):
        remedy = " ".join((*remedies, "`access-gateway connection test ID` shows the error."))
        return warn("connections", f"{counts}: {', '.join(failing)} fail", remedy)
    if reading := [str(row.id) for row, *_ in rows if row.status_detail == SENDING_REFUSED]:
        remedy = "Correct the login for outgoing mail, and `access-gateway connection test ID`."
        return warn("connections", f"{counts}: {', '.join(reading)} can read, and not send", remedy)
    if unlinked := [str(row.id) for row, *_, linked in rows if linked is None]:
        remedy = "Link their operators to the resources again, or remove the connections."
        detail = f"{counts}: no token reaches {', '.join(unlinked)}, whose operators are not linked"
        return warn("connections", detail, remedy)
    return ok("connections", counts or "none yet")


async def endings(store: Database, keyring: Keyring) -> Finding:
    """Find the connections whose credentials end soon."""
    async with store.reading() as session:
        ending = await expiry.ending(session, keyring)
    name = "credentials' ends"
    if not ending:
        return ok(name, "none within three days")
    detail = ", ".join(
        f"{each.id} on {timestamps.from_ms(each.expires_at):%Y-%m-%d %H:%M} UTC" for each in ending
    )
    remedies = []
    if not all(each.for_want_of_use for each in ending):
        remedies.append("`access-gateway connection reconnect ID --link` makes an owner's link.")
    if any(each.for_want_of_use for each in ending):
        unused = ", ".join(str(each.id) for each in ending if each.for_want_of_use)
        remedies.append(f"`access-gateway connection test ID` is a use of {unused}.")
    return warn(name, f"they end: {detail}", " ".join(remedies))


async def access_tokens(store: Database) -> Finding:
    """List the active tokens whose settings reveal more than they seem to, or allow nothing."""
    async with store.reading() as session:
        active = await tokens.list_all(session, status=Status.ACTIVE)
    odd = [str(token.id) for token in active if token.warnings]
    if odd:
        remedy = "`access-gateway token show ID` shows why, and the setting that changes it."
        return warn("tokens", f"{', '.join(odd)} reveal what they hide, or can do nothing", remedy)
    return ok("tokens", f"{len(active)} active")


async def providers(store: Database, settings: Settings) -> Finding:
    """Open a connection to every upstream that a connected account needs."""
    name = "providers"
    if settings.sandbox:
        return ok(name, "sandbox upstreams, in the gateway itself")
    async with store.reading() as session:
        rows = (
            await session.exec(
                select(ConnectionRow.kind, ConnectionRow.provider, ConnectionRow.base_url).where(
                    col(ConnectionRow.status) != "disabled",
                    col(ConnectionRow.provider).not_in(WITHOUT_HTTP),  # `own_servers`
                )
            )
        ).all()
    origins = _origins(url or settings.upstreams.get((kind, code), "") for kind, code, url in rows)
    failures = await asyncio.gather(*map(_failure, origins))
    unreached = [
        f"{host}: {failure}"
        for (_, host, _), failure in zip(origins, failures, strict=True)
        if failure
    ]
    if unreached:
        remedy = "Check the network, the proxy and the base URLs of the settings."
        return fail(name, "; ".join(unreached), remedy)
    return ok(name, f"{len(origins)} reached" if origins else "none needed yet")


def _origins(urls: Iterable[str]) -> list[tuple[str, str, int]]:
    """Return the distinct (scheme, host, port) of *urls*."""
    origins = set()
    for url in urls:
        parts = urlsplit(url)
        if parts.hostname:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            origins.add((parts.scheme, parts.hostname, port))
    return sorted(origins)


async def _failure(origin: tuple[str, str, int]) -> str | None:
    """Return why *origin* cannot be reached; None when it can."""
    scheme, host, port = origin
    tls = ssl.create_default_context() if scheme == "https" else None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=tls)
    except TimeoutError:
        return "no response in time"
    except OSError as problem:
        return problem.strerror or str(problem)
    writer.close()
    return None
