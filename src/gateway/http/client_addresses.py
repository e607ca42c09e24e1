"""Whose address a request counts against. Decisions 10: forwarded addresses only from proxies."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from starlette.types import Scope

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
UNKNOWN = "unknown"
_REMEMBERED = 4096  # addresses of peers, read once; hops are text of the client's and are not kept
_SUBSCRIBER = 64  # bits of an IPv6 address that tell one customer from another


def bucket(scope: Scope, proxies: Sequence[Network]) -> str:
    """
    Return what the per-address limits count this request under.

    The peer's own address, unless the peer is a trusted proxy: then the right-most hop of
    `X-Forwarded-For` that is none. A hop that is not an address ends the walk: the last one that
    was believed counts. IPv6 addresses count by their /64.
    """
    client = scope.get("client")
    address = _peer(client[0]) if client else None
    if address is None:
        return UNKNOWN
    if proxies and _is_trusted(address, proxies):
        address = _behind(address, scope, proxies)
    return _group(address)


def peer(client: tuple[str, int] | None, proxies: Sequence[Network]) -> str | None:
    """
    Return what the connections of *client* count under.

    None for peers that may speak for many: trusted proxies, this machine, and those without an
    address.
    """
    address = _peer(client[0]) if client else None
    if address is None or address.is_loopback or _is_trusted(address, proxies):
        return None
    return _group(address)


def _behind(peer: Address, scope: Scope, proxies: Sequence[Network]) -> Address:
    lines = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    believed = peer
    for hop in reversed(b",".join(lines).decode("latin-1").split(",")):
        address = _parse(hop.strip())
        if address is None:
            return believed
        believed = address
        if not _is_trusted(address, proxies):
            return believed
    return believed


def _parse(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        return address.ipv4_mapped or IPv6Address(int(address))  # without a zone
    return address


@lru_cache(maxsize=_REMEMBERED)
def _peer(text: str) -> Address | None:
    return _parse(text)


def _is_trusted(address: Address, proxies: Sequence[Network]) -> bool:
    return any(address in network for network in proxies)


@lru_cache(maxsize=_REMEMBERED)
def _group(address: Address) -> str:
    if isinstance(address, IPv4Address):
        return str(address)
    return str(ip_network((int(address), _SUBSCRIBER), strict=False))
