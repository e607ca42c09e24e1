"""
Sign-in of the official Python client: it knows an address alone, and ends with the result of a tool.

A person is imitated at the forms of the page. The client registers itself, or was registered.
"""

import html
import json
import re
import time
import urllib.parse
import urllib.request
from urllib.error import HTTPError

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

REDIRECT = "http://127.0.0.1:9/callback"


class Memory:
    """What the client keeps: its registration and its tokens."""

    def __init__(self, client=None):
        self.client, self.tokens = client, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Person:
    """A person with a token, at the page that the client opens."""

    def __init__(self, token, preset):
        self.token, self.preset, self.answer = token, preset, ""
        self.opener = urllib.request.build_opener(_NoRedirects)

    async def open(self, url):
        page = self.opener.open(url).read().decode()
        assert "127.0.0.1" in page and "Decline" in page, page
        page = self.post(url, page, answer="prove", token=self.token)
        accounts = {name: "on" for name in re.findall(r'name="(account-\d+)"', page)}
        fields = {"preset": self.preset, "days": "1", **accounts}
        self.answer = self.post(url, page, answer="grant", **fields)

    def post(self, url, page, **fields):
        sealed = html.unescape(re.search(r'name="request" value="([^"]+)"', page)[1])
        form = urllib.parse.urlencode({"request": sealed, **fields}).encode()
        try:
            return self.opener.open(url.partition("?")[0], form).read().decode()
        except HTTPError as redirect:
            assert redirect.code == 303, redirect.read()
            return redirect.headers["location"]

    async def returned(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.answer).query))
        return AuthorizationCodeResult(**query)


async def check_sign_in(base_url, token, registered=None):
    """Sign in for the address alone; read a mail; refresh, and read again."""
    began, storage, person = time.monotonic(), Memory(registered), Person(token, "drafts")
    metadata = OAuthClientMetadata(
        client_name="The official client",
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(
        f"{base_url}/mcp",
        metadata,
        storage,
        redirect_handler=person.open,
        callback_handler=person.returned,
    )
    names = await _tools(base_url, provider)
    assert {"find_mail", "draft_mail"} <= names and "send_mail" not in names, names
    first = storage.tokens
    assert first.scope == "drafts", first
    provider.context.token_expiry_time = 1.0
    assert await _tools(base_url, provider) == names
    assert storage.tokens.access_token != first.access_token
    return time.monotonic() - began


async def _tools(base_url, provider):
    http = create_mcp_http_client(auth=provider)
    async with Client(streamable_http_client(f"{base_url}/mcp", http_client=http)) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("find_mail", {"limit": 1})
        assert not result.is_error and "shown 1 of" in result.content[0].text, result
    return names


def registered_client(manifest):
    """Register a client by the management API; return what it keeps of it."""
    body = b'{"name":"Registered","redirectUris":["%s"],"hasSecret":true}' % REDIRECT.encode()
    headers = {"Authorization": f"Bearer {manifest['adminToken']}"}
    request = urllib.request.Request(f"{manifest['baseUrl']}/api/oauth-clients", body, headers)
    made = json.loads(urllib.request.urlopen(request).read())
    return OAuthClientInformationFull(
        client_id=made["clientId"],
        client_secret=made["clientSecret"],
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method="client_secret_basic",
    )
