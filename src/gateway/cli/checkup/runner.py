"""Runs all checks, in an order in which each needs only what earlier ones results working."""

from gateway.cli.checkup import (
    accounts,
    deployment,
    held_writes,
    notifications,
    own_servers,
    stores,
    webhooks,
)
from gateway.cli.checkup.findings import Finding, Outcome, fail, unknown
from gateway.secrets.keyring import WeakSecret
from gateway.settings import Settings
from gateway.store.database import Database


async def run_checks(*, offline: bool) -> list[Finding]:
    """Run every check; *offline* leaves out those that call upstreams."""
    settings, results = deployment.read()
    if settings is None:
        return results
    try:
        store = Database.open(settings.database, pooler=settings.database_pooler)
    except Exception:  # noqa: BLE001 - whatever the URL's dialect raises
        remedy = "sqlite+aiosqlite:///FILE or postgresql+asyncpg://USER:PASSWORD@HOST/NAME"
        return [*results, fail("database", "AGW_DATABASE_URL is not a valid database URL", remedy)]
    try:
        results += deployment.local(settings, embedded=store.path is not None)
        results += await _stores(store, settings, offline=offline)
    finally:
        await store.close()
    return results


async def _stores(store: Database, settings: Settings, *, offline: bool) -> list[Finding]:
    results = [await stores.database(store), await stores.redis(settings.redis_url)]
    if results[0].outcome is not Outcome.OK:
        return results + (stores.unreachable() if results[0].outcome is Outcome.FAIL else [])
    results.append(await stores.schema(store))
    if results[-1].outcome is not Outcome.OK:
        return [*results, *(unknown(name, "schema") for name in stores.NEED_SCHEMA)]
    shared = settings.redis_url if results[1].outcome is not Outcome.FAIL else None
    results.append(await stores.clock(store, shared))
    results.append(await stores.serving(store, settings))
    keyring = None
    try:
        keyring = deployment.keyring_of(settings)
        results.append(await accounts.credentials(store, keyring))
        results.append(await accounts.endings(store, keyring))
        results.append(await accounts.decision_log(store, keyring))
    except WeakSecret:
        names = ("credentials", "credentials' ends", "decision log")
        results += [unknown(name, "secrets") for name in names]
    results.append(await accounts.connections(store))
    results.append(await accounts.access_tokens(store))
    results.append(await held_writes.held_writes(store))
    results.append(await webhooks.webhooks(store))
    results.append(await notifications.notifications(store, settings, offline=offline))
    if not offline:
        results.append(await accounts.providers(store, settings))
        results.append(
            unknown(own_servers.NAME, "secrets")
            if keyring is None
            else await own_servers.own_servers(store, keyring)
        )
    return results
