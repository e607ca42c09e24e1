"""Links that upstream gives do not reach into this network."""

import pytest

from providers.failures import Unreachable
from providers.http.client import Origins, Upstream
from providers.http.pool import Endpoint

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "fe80::1",
    "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
    "64:ff9b::a9fe:a9fe",  # NAT64 of 169.254.169.254
    "64:ff9b:1::a00:1",  # NAT64 for local use
    "2002:a00:1::1",  # 6to4 of 10.0.0.1
    "2002:c0a8:101::",  # 6to4 of 192.168.1.1
    "2001:0:808:808::f5ff:fffe",  # Teredo of a client at 10.0.0.1
    "::ffff:10.0.0.1",
    "::10.0.0.1",
    "224.0.0.1",
    "ff0e::1",
    "localhost",
]


@pytest.mark.parametrize("host", PRIVATE)
async def test_a_private_address_is_refused(host):
    with pytest.raises(OSError):
        await Endpoint(host=host, port=443, tls=None, public=True).addresses()


@pytest.mark.parametrize(
    "host", ["8.8.8.8", "2001:4860:4860::8888", "64:ff9b::808:808", "2002:808:808::1"]
)
async def test_a_public_address_is_called_as_it_was_checked(host):
    endpoint = Endpoint(host=host, port=443, tls=None, public=True)

    assert await endpoint.addresses() == [host]


async def test_a_download_named_by_upstream_does_not_reach_this_machine(stub):
    origins = Origins()
    upstream = Upstream(origins, "https://up.test", connection=1, hosts=("localhost",))
    with pytest.raises(Unreachable) as caught:
        async with upstream.open_stream("GET", "https://localhost/secret"):
            pytest.fail("it was called")

    assert caught.value.sent is False
    await origins.aclose()
