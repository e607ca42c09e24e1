"""
The client address that rate limits and connection limits count by.

See docs/spec/limits.md#client-address: forwarded addresses are trusted from proxies only.
"""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import msgspec
from starlette.types import Scope

from gateway.http.request_state import RequestState
from gateway.ratelimit.buckets import bucket_of
from policy.quota import Charge, RequestCounter, Window
from policy.refusals import TooManyRequests

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
UNKNOWN = "unknown"
_CACHED_ADDRESSES = 4096  # of peers; forwarded hops are text of the client and are not cached
_IPV6_PREFIX = 64  # bits of an IPv6 address that identify one subscriber


def bucket(scope: Scope, proxies: Sequence[Network]) -> str:
    """
    Return the key of the request's per-address rate limits.

    It is the peer's address; behind a trusted proxy, the right-most hop of `X-Forwarded-For` that
    is not a trusted proxy. A hop that is not an address ends the search: the last trusted hop
    counts. IPv6 addresses count by their /64.
    """
    client = scope.get("client")
    if not proxies:
        return _peer_key(client[0]) if client else UNKNOWN
    address = _peer(client[0]) if client else None
    if address is None:
        return UNKNOWN
    if _is_trusted(address, proxies):
        address = _forwarded_client(address, scope, proxies)
    return _address_key(address)


def peer(client: tuple[str, int] | None, proxies: Sequence[Network]) -> str | None:
    """
    Return the key of the connection limit of *client*.

    None for peers that may stand for many clients: trusted proxies, this machine, and peers
    without an address.
    """
    address = _peer(client[0]) if client else None
    if address is None or address.is_loopback or _is_trusted(address, proxies):
        return None
    return _address_key(address)


def _forwarded_client(peer: Address, scope: Scope, proxies: Sequence[Network]) -> Address:
    lines = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    trusted = peer
    for hop in reversed(b",".join(lines).decode("latin-1").split(",")):
        address = _parse(hop.strip())
        if address is None:
            return trusted
        trusted = address
        if not _is_trusted(address, proxies):
            return trusted
    return trusted


def _parse(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or ipaddress.IPv6Address(int(address))  # without a zone
    return address


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _peer(text: str) -> Address | None:
    return _parse(text)


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _peer_key(text: str) -> str:
    address = _peer(text)
    return UNKNOWN if address is None else _address_key(address)


def _is_trusted(address: Address, proxies: Sequence[Network]) -> bool:
    return any(address in network for network in proxies)


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _address_key(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((int(address), _IPV6_PREFIX), strict=False))


class AddressLimits(msgspec.Struct, frozen=True):
    """
    The rate limits of client addresses.

    Attributes:
        windows: By bucket.
        proxies: Peers whose `X-Forwarded-For` is trusted.
        on_limited: Called with the bucket of each refused request's path.
    """

    counter: RequestCounter
    windows: Mapping[str, tuple[Window, ...]]
    proxies: Sequence[Network]
    on_limited: Callable[[str], None] = lambda _: None

    def charges(
        self, scope: Scope, costs: Mapping[str, int], mount: str = "", *, valid: bool = True
    ) -> list[Charge]:
        """
        Return the charges of *costs*, requests by bucket, to the client's address.

        Requests without a *valid* credential have windows of their own: guesses cannot use up
        those of the right credential.
        """
        address = bucket(scope, self.proxies)
        prefix = mount if valid else f"unauthenticated:{mount}"
        return [
            Charge(f"{prefix}{name}:{address}", self.windows[name], cost, address)
            for name, cost in costs.items()
        ]

    async def take(self, scope: Scope, state: RequestState, charges: Sequence[Charge]) -> None:
        """
        Charge all of *charges*, or none.

        Raises:
            TooManyRequests: A window has not enough left.
        """
        verdict = await self.counter.take(charges)
        state.record_verdict(verdict)
        if not verdict.allowed:
            self.on_limited(bucket_of(scope["path"])[0])
            raise TooManyRequests(verdict.retry_after)
