"""Check of the providers' notifications: whether they come, and what is missing if not."""

from gateway.cli.checkup.findings import Finding, ok, warn
from gateway.feeds.push.registrations import OTHER_FAILURE, count_by_failure
from gateway.settings import Settings
from gateway.store.database import Database
from providers.failures import ProviderFailure
from providers.ports.pushes import Lack

NAME = "notifications"
_OTHERS = "`connection check` tells what the provider answers."


async def notifications(store: Database, settings: Settings, *, offline: bool) -> Finding:
    """Count the registrations, and name what is missing; unless *offline*, test the rights."""
    async with store.reading() as session:
        counts = await count_by_failure(session)
    remedies = [Lack[name.upper()].value for name in counts if name not in {"", OTHER_FAILURE}]
    if counts.get(OTHER_FAILURE):
        remedies.append(_OTHERS)
    if not offline and settings.provider_a_push_topic is not None:
        remedies += await _pulls(settings)
    working = counts.pop("", 0)
    if remedies:
        detail = f"{working} accounts are registered, {sum(counts.values())} fail: polls go on"
        return warn(NAME, detail, " ".join(dict.fromkeys(remedies)))
    if not settings.push_providers:
        return ok(NAME, "none: neither AGW_PROVIDER_A_PUSH_TOPIC nor AGW_PROVIDER_B_PUSH is set")
    return ok(NAME, f"{working} accounts are registered")


async def _pulls(settings: Settings) -> list[str]:
    """Return why the notifications of Gmail cannot be pulled; empty when they can be."""
    from gateway.connections.token_endpoints import TokenEndpoints
    from gateway.feeds.push.mail_pulls import open_pubsub
    from gateway.infrastructure import open_origins

    origins = open_origins(settings)
    try:
        pubsub = open_pubsub(settings, origins, TokenEndpoints(origins, settings))
        if await pubsub.may_pull():
            return []
    except ProviderFailure as failure:
        return [failure.message]
    finally:
        await origins.aclose()
    return [f"{Lack.SUBSCRIPTION_RIGHT.value} Or there is no such subscription."]
