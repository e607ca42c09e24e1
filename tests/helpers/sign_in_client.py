"""A client of sign-in without a library, and a person at its page without a browser."""

import base64
import hashlib
import html
import re
import secrets
from urllib.parse import parse_qsl, urlencode, urlsplit

REDIRECT = "https://app.example/callback"
HIDDEN = re.compile(r'name="request" value="([^"]+)"')


class App:
    """An application that a person signs in; *http* is an HTTP client without a credential."""

    def __init__(self, http, client_id, *, base, redirect_uri=REDIRECT, secret=None):
        self.http = http
        self.client_id = client_id
        self.base = base
        self.redirect_uri = redirect_uri
        self.secret = secret
        self.verifier = secrets.token_urlsafe(32)
        self.state = secrets.token_urlsafe(8)

    def query(self, **changes):
        """Return the parameters of an authorization request; those that are None are left out."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        sent = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "scope": "reader",
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": f"{self.base}/mcp",
            **changes,
        }
        return {name: value for name, value in sent.items() if value is not None}

    async def ask(self, **changes):
        """Return the page that the app opens."""
        return await self.http.get(f"/connect?{urlencode(self.query(**changes))}")

    async def post(self, page, **fields):
        """Return the response to the form of *page*, with *fields*."""
        sealed = html.unescape(HIDDEN.search(page.text)[1])
        return await self.http.post("/connect", data={"request": sealed, **fields})

    async def prove(self, token, **changes):
        """Return the page that offers presets."""
        return await self.post(await self.ask(**changes), token=token, answer="prove")

    async def grant(self, token, *, preset="reader", days="30", accounts=None, **changes):
        """Return the parameters of the redirect after the person granted."""
        page = await self.prove(token, **changes)
        offered = re.findall(r'name="account-(\d+)"', page.text)
        chosen = offered if accounts is None else accounts
        fields = {f"account-{number}": "on" for number in chosen}
        done = await self.post(page, answer="grant", preset=preset, days=days, **fields)
        assert done.status_code == 303, done.text
        return redirected(done)

    async def token(self, **fields):
        """Return the response of the token endpoint."""
        own = {"client_id": self.client_id, "client_secret": self.secret, **fields}
        sent = {name: value for name, value in own.items() if value is not None}
        return await self.http.post("/oauth/token", data=sent)

    def exchange(self, code, **changes):
        """Return the fields of the exchange of a code."""
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            **changes,
        }

    async def redeem(self, code, **changes):
        return await self.token(**self.exchange(code, **changes))

    async def refresh(self, refresh_token, **changes):
        fields = {"grant_type": "refresh_token", "refresh_token": refresh_token, **changes}
        return await self.token(**fields)

    async def sign_in(self, token, **choices):
        """Return the body of the token response of a whole sign-in."""
        response = await self.redeem((await self.grant(token, **choices))["code"])
        assert response.status_code == 200, response.text
        return response.json()


def redirected(response):
    """Return the parameters of a redirect."""
    return dict(parse_qsl(urlsplit(response.headers["location"]).query))
