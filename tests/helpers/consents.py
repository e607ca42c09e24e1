"""Steps of a consent over REST: an administrator begins it, and a person agrees at the sandbox."""

from urllib.parse import parse_qs, urlsplit


async def begin(admin, connection):
    """Begin a consent; return the address of the provider's page."""
    answer = await admin.post(f"/api/connections/{connection}/reconnect", json={})
    assert answer.status_code == 200
    assert answer.json().keys() == {"authorizeUrl", "expiresAt"}
    return answer.json()["authorizeUrl"]


async def agree(client, url, **more):
    """Consent at the provider; return where it sends the person to."""
    answer = await client.get(url, params={**query(url), "auto_approve": "true", **more})
    assert answer.status_code == 302
    return answer.headers["location"]


async def consent(admin, client, connection, **more):
    """Begin a consent and agree; return the page that the person sees at the end."""
    return await client.get(await agree(client, await begin(admin, connection), **more))


def query(url):
    """Return the parameters of *url*, the first value of each."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
