"""
The connectors that there are, and the tables that are made of their descriptors.

A connector is a module or package below `providers.connectors` with a constant `CONNECTOR`.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from providers.catalogue.descriptors import Connector, Consent, Service

_PACKAGE = "providers.connectors"
_KINDS = ("email", "calendar", "collab", "tasks")


def _connectors() -> Iterator[Connector]:
    """Read the descriptors: those of vendors first, then those of own servers, by code."""
    names = [module.name for module in iter_modules(import_module(_PACKAGE).__path__)]
    connectors = [import_module(f"{_PACKAGE}.{name}").CONNECTOR for name in names]
    yield from sorted(connectors, key=lambda known: (known.own_server is not None, known.code))


CONNECTORS: Mapping[str, Connector] = MappingProxyType({each.code: each for each in _connectors()})
# (kind, provider) -> what opens its accounts, by kind.
SERVICES: Mapping[tuple[str, str], Service] = MappingProxyType(
    {
        (kind, code): service
        for kind in _KINDS
        for code, connector in CONNECTORS.items()
        for service in connector.services
        if service.kind == kind
    }
)
# Kind -> its provider -> the product's name. Responses to clients have the codes alone.
PRODUCTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        kind: {code: service.product for (of, code), service in SERVICES.items() if of == kind}
        for kind in _KINDS
    }
)
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {kind: tuple(products) for kind, products in PRODUCTS.items()}
)
CODES = tuple(dict.fromkeys(code for codes in KINDS.values() for code in codes))
NAMES: Mapping[str, str] = MappingProxyType({code: CONNECTORS[code].name for code in CODES})
CONSENTS: Mapping[str, Consent] = MappingProxyType(
    {code: consent for code in CODES if (consent := CONNECTORS[code].consent)}
)
OWN_SERVERS = frozenset(code for code in CODES if CONNECTORS[code].own_server)
WITHOUT_HTTP = frozenset(code for code in CODES if CONNECTORS[code].http is None)
# (kind, provider) of the accounts that tell a client that waits: mail by `IDLE`.
WAITED_FOR = frozenset(key for key in SERVICES if key[1] in WITHOUT_HTTP)
MAIL_PREFIXES: Mapping[str, str] = MappingProxyType(
    {code: CONNECTORS[code].mail_prefix for code in KINDS["email"]}
)
# Provider and pattern of the path of an item's web address.
ITEM_PATHS = tuple(
    (code, re.compile(path)) for code in KINDS["tasks"] for path in CONNECTORS[code].item_paths
)


def with_product(kind: str, provider: str) -> str:
    """Return the code of a provider with the product's name: `PROVIDER_A (Gmail)`."""
    name = PRODUCTS.get(kind, {}).get(provider)
    return provider if name is None else f"{provider} ({name})"
