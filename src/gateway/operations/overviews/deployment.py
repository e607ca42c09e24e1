"""The settings that matter for a deployment, of the many that there are, and what each is now."""

from collections.abc import Iterator
from enum import StrEnum
from typing import get_args

import msgspec
from pydantic import SecretStr

from gateway.provider_settings import client_variables
from gateway.settings import Settings
from providers.catalogue.tables import CONSENTS

# The settings that a deployment is made with, in the order in which they are set.
ESSENTIAL = (
    "admin_token",
    "secret_keys",
    "public_url",
    "data_dir",
    "database_url",
    "redis_url",
    "workers",
    "trusted_proxies",
)
_OF_SEVERAL = ("database_url", "redis_url", "workers")  # processes
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class State(StrEnum):
    """`needed`: it is not set, and this deployment should have it."""

    SET = "set"
    DEFAULT = "default"
    NEEDED = "needed"


class SettingState(msgspec.Struct, frozen=True):
    """A setting; *value* is empty for secrets, and where it is not set."""

    variable: str
    state: State
    value: str
    meaning: str


def settings_that_matter(settings: Settings) -> list[SettingState]:
    """Return the settings that this deployment needs, in the order of `ESSENTIAL`; then clients."""
    return [*_essential(settings), *_clients(settings)]


def further_settings(settings: Settings) -> tuple[list[str], int]:
    """Return the variables of all other settings that are set, and how many have defaults."""
    hidden = {name: field for name, field in Settings.model_fields.items() if name not in ESSENTIAL}
    changed = [
        f"AGW_{name.upper()}"
        for name, field in hidden.items()
        if getattr(settings, name) != field.get_default(call_default_factory=True)
    ]
    return sorted(changed), len(hidden) - len(changed)


def _essential(settings: Settings) -> Iterator[SettingState]:
    several = settings.limiting_processes > 1
    needed = {
        "admin_token": not settings.admins,
        "secret_keys": settings.secret_keys is None,
        "public_url": settings.public_url is None and settings.host not in _LOOPBACK,
        "redis_url": several and settings.redis_url is None,
        "database_url": settings.limiting_processes > settings.workers
        and settings.database_url is None,
    }
    for name in ESSENTIAL:
        if name in _OF_SEVERAL and not several and name not in settings.model_fields_set:
            continue
        if name == "data_dir" and settings.database_url is not None:
            continue
        if name == "admin_token" and settings.admin_token is None and settings.admin_tokens:
            yield _setting(settings, "admin_tokens", needed=False)
        else:
            yield _setting(settings, name, needed=needed.get(name, False))


def _clients(settings: Settings) -> Iterator[SettingState]:
    """Yield the id of the OAuth client at each vendor, but for the sandbox, which has its own."""
    vendors = {consent.vendor: provider for provider, consent in CONSENTS.items()}
    for vendor, provider in vendors.items() if not settings.sandbox else ():
        client_id, _ = settings.oauth_client(provider)
        state = State.DEFAULT if client_id is None else State.SET
        meaning = f"The OAuth client at {vendor}, with {client_variables(provider)[1]}: for "
        meaning += "accounts that are connected there by consent."
        yield SettingState(client_variables(provider)[0], state, client_id or "", meaning)


def _setting(settings: Settings, name: str, *, needed: bool) -> SettingState:
    field = Settings.model_fields[name]
    state = State.NEEDED if needed else State.DEFAULT
    if name in settings.model_fields_set:
        state = State.SET
    is_secret = SecretStr in (field.annotation, *get_args(field.annotation))
    value = getattr(settings, name)
    shown = "" if is_secret or value in (None, ()) else str(value)
    return SettingState(f"AGW_{name.upper()}", state, shown, field.description or "")
