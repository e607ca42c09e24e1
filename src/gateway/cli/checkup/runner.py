"""All checks, in an order in which each needs only what was found well before it."""

from gateway.cli.checkup import accounts, deployment, stores
from gateway.cli.checkup.findings import Finding, Outcome, fail, unknown
from gateway.secrets.keyring import WeakSecret
from gateway.settings import Settings
from gateway.store.database import Database


async def run_checks(*, offline: bool) -> list[Finding]:
    """Make every check; *offline* leaves out those that call upstreams."""
    settings, found = deployment.read()
    if settings is None:
        return found
    try:
        store = Database.open(settings.database)
    except Exception:  # noqa: BLE001 - whatever the URL's dialect raises
        remedy = "sqlite+aiosqlite:///FILE or postgresql+asyncpg://USER:PASSWORD@HOST/NAME"
        return [*found, fail("database", "AGW_DATABASE_URL is no database URL", remedy)]
    try:
        found += deployment.local(settings, embedded=store.path is not None)
        found += await _stores(store, settings, offline=offline)
    finally:
        await store.close()
    return found


async def _stores(store: Database, settings: Settings, *, offline: bool) -> list[Finding]:
    found = [await stores.database(store), await stores.redis(settings.redis_url)]
    if found[0].outcome is not Outcome.OK:
        return found + (stores.unreachable() if found[0].outcome is Outcome.FAIL else [])
    found.append(await stores.schema(store))
    if found[-1].outcome is not Outcome.OK:
        return [*found, *(unknown(name, "schema") for name in ("credentials", "connections"))]
    shared = settings.redis_url if found[1].outcome is not Outcome.FAIL else None
    found.append(await stores.clock(store, shared))
    try:
        found.append(await accounts.credentials(store, deployment.keyring_of(settings)))
    except WeakSecret:
        found.append(unknown("credentials", "secrets"))
    found.append(await accounts.connections(store))
    if not offline:
        found.append(await accounts.providers(store, settings))
    return found
