"""What provider B's identity server says of itself."""

import httpx
import pytest

TENANT = "/oauth/provider-b/tenant-1"


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("sandbox.test", "http://sandbox.test/oauth/provider-b/tenant-1"),
        ("login.microsoftonline.com", "https://login.microsoftonline.com/tenant-1"),
    ],
)
async def test_the_description_names_addresses_that_its_reader_takes(world, host, base):
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(world.app), base_url="http://sandbox.test"
    )
    response = await client.get(
        f"{TENANT}/v2.0/.well-known/openid-configuration", headers={"Host": host}
    )

    assert response.json() == {
        "issuer": f"{base}/v2.0",
        "token_endpoint": f"{base}/oauth2/v2.0/token",
        "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
        "jwks_uri": f"{base}/discovery/v2.0/keys",
    }
