"""The ways to connect an account that this deployment has."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from gateway.provider_settings import client_variables
from providers.catalogue.tables import CONNECTORS, CONSENTS, SERVICES


class Way(StrEnum):
    """`client`: of the application, which acts for itself (app-only)."""

    CONSENT = "consent"
    API_TOKEN = "api-token"  # noqa: S105 - a word
    PASSWORD = "password"  # noqa: S105 - a word
    CLIENT = "client"


class ServiceWay(NamedTuple):
    """
    A way to connect an account of a service.

    Attributes:
        missing: The settings that it needs; empty: it can be used.
    """

    kind: str
    provider: str
    product: str
    way: Way
    missing: tuple[str, ...] = ()


# Of vendors, how accounts of a kind are connected without the consent of a person.
_WITHOUT_PERSON: Mapping[str, Way] = MappingProxyType(
    {"tasks": Way.API_TOKEN, "collab": Way.CLIENT}
)


def ways(has_client: Callable[[str], bool]) -> Iterator[ServiceWay]:
    """Yield every way to connect an account; *has_client*: whether a vendor's client is set."""
    for (kind, provider), service in SERVICES.items():
        if CONNECTORS[provider].own_server is not None:
            yield ServiceWay(kind, provider, service.product, Way.PASSWORD)
            continue
        if provider in CONSENTS:
            missing = () if has_client(provider) else client_variables(provider)
            yield ServiceWay(kind, provider, service.product, Way.CONSENT, missing)
        if kind in _WITHOUT_PERSON:
            yield ServiceWay(kind, provider, service.product, _WITHOUT_PERSON[kind])
