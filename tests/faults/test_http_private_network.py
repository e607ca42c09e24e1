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
    "localhost",
]


@pytest.mark.parametrize("host", PRIVATE)
async def test_a_private_address_is_refused(host):
    with pytest.raises(OSError):
        await Endpoint(host=host, port=443, tls=None, public=True).addresses()


async def test_a_public_address_is_called_as_it_was_checked():
    endpoint = Endpoint(host="8.8.8.8", port=443, tls=None, public=True)

    assert await endpoint.addresses() == ["8.8.8.8"]


async def test_a_download_named_by_upstream_does_not_reach_this_machine(stub):
    origins = Origins()
    upstream = Upstream(origins, "https://up.test", connection=1, hosts=("localhost",))
    with pytest.raises(Unreachable) as caught:
        async with upstream.open_stream("GET", "https://localhost/secret"):
            pytest.fail("it was called")

    assert caught.value.sent is False
    await origins.aclose()
