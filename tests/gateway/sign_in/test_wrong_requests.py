"""No wrong request of sign-in gets a token, a code, or a redirect to a foreign address."""

import re
from random import Random
from urllib.parse import urlencode

import pytest
import world as worlds
from sign_in_client import REDIRECT, App

REDIRECTS = [
    None,
    "",
    "https://evil.example/callback",
    f"{REDIRECT}/",
    f"{REDIRECT}?x=1",
    f"{REDIRECT}#x",
    REDIRECT.upper(),
    "http://app.example/callback",
    "https://app.example:8443/callback",
    "https://app.example/../callback",
    "https://app.example.evil.example/callback",
    "https://x@app.example/callback",
    "https://app.example\\@evil.example/callback",
    "//app.example/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://app.example/callback\r\nSet-Cookie: x=1",
    "https://app.example;script-src/callback",
    "http://127.0.0.1/other",
    "http://127.0.0.1.evil.example/callback",
]
CLIENTS = [None, "", "unknown", "x" * 44, "http://app.example/id", "https://127.0.0.1/id", "\x00"]
CLIENTS += [
    "https://localhost/id",
    "https://10.0.0.1/id",
    "https://[::1]/id",
    "https://x@a.example/i",
]


@pytest.fixture
async def world(world_template, tmp_path):
    async with worlds.opened(*world_template, tmp_path / "world", rate_limits="off") as world:
        yield world


class Attempts:
    """One wrong request after another; `secrets` are texts that no response may hold."""

    def __init__(self, random, app, other, own):
        self.random, self.app, self.other, self.own = random, app, other, own
        self.http = app.http

    def text(self, length=43):
        return "".join(self.random.choice("abcXYZ019-_") for _ in range(length))

    async def prepare(self):
        """Fetch what a stranger may have seen: forms, a code that is used, old refresh tokens."""
        self.first = await self.app.ask()
        self.second = await self.app.prove(self.own)
        self.code = (await self.app.grant(self.own))["code"]
        tokens = await self.app.sign_in(self.own)
        await self.app.refresh(tokens["refresh_token"])
        self.replaced = tokens

    async def open_the_page_with_another_redirect(self):
        return await self.app.ask(redirect_uri=self.random.choice(REDIRECTS))

    async def open_the_page_as_another_client(self):
        return await self.app.ask(client_id=self.random.choice(CLIENTS))

    async def open_the_page_with_a_wrong_member(self):
        name, values = self.random.choice(
            [
                ("response_type", [None, "token", "code token", "CODE", "id_token"]),
                ("code_challenge_method", [None, "plain", "s256", "S512"]),
                ("code_challenge", [None, "", self.text(42), self.text(44), self.text(42) + "="]),
                ("response_mode", ["fragment", "form_post", ""]),
                ("state", ["x" * 1025]),
                (
                    "resource",
                    [None, "", "https://evil.example/mcp", f"{self.app.base}/api", "/mcp"],
                ),
            ]
        )
        return await self.app.ask(**{name: self.random.choice(values)})

    async def open_the_page_with_a_member_twice(self):
        sent = [*self.app.query().items()]
        sent.append((self.random.choice(sent)[0], self.text(12)))
        self.random.shuffle(sent)
        return await self.http.get(f"/connect?{urlencode(sent)}")

    async def prove_a_wrong_token(self):
        changed = list(self.own)
        changed[self.random.randrange(4, 47)] = self.random.choice("0aZ-")
        token = self.random.choice(
            ["", self.text(), "".join(changed)[:-1], self.replaced["access_token"], f"{self.own}x"]
        )
        return await self.app.post(self.first, token=token, answer="prove")

    async def grant_without_a_proof(self):
        fields = {"preset": "reader", "days": "1", "account-29": "on"}
        return await self.app.post(self.first, answer="grant", **fields)

    async def grant_by_a_changed_seal(self):
        sealed = re.search(r'name="request" value="([^"]+)"', self.second.text)[1]
        changed = list(sealed)
        changed[self.random.randrange(len(sealed))] = self.random.choice("abcXYZ019-_")
        made = self.random.choice(["".join(changed), sealed[:-3], self.text(200), ""])
        if made == sealed:
            made = ""
        fields = {"preset": "reader", "days": "1", "account-29": "on", "answer": "grant"}
        return await self.http.post("/connect", data={"request": made, **fields})

    async def grant_from_another_site(self):
        origin = self.random.choice(
            ["https://evil.example", "null", f"{self.app.base}.evil.example", f"{self.app.base}0"]
        )
        headers = self.random.choice([{"origin": origin}, {"sec-fetch-site": "cross-site"}])
        sealed = re.search(r'name="request" value="([^"]+)"', self.second.text)[1]
        fields = {"preset": "reader", "days": "1", "account-29": "on", "answer": "grant"}
        return await self.http.post("/connect", data={"request": sealed, **fields}, headers=headers)

    async def grant_with_a_wrong_choice(self):
        right = {"preset": "reader", "days": "1", "account-29": "on", "answer": "grant"}
        changes = [{"preset": "owner"}, {"preset": ""}, {"days": "9999"}, {"days": "-1"}]
        changes += [{"answer": "yes"}, {"answer": ""}]
        fields = {**right, **self.random.choice(changes)}
        if self.random.random() < 0.2:
            fields = {"preset": "reader", "days": "1", "account-1": "on", "answer": "grant"}
        return await self.app.post(self.second, **fields)

    async def redeem_wrongly(self):
        wrong = [
            {"code_verifier": self.text()},
            {"code_verifier": ""},
            {"code_verifier": None},
            {"redirect_uri": self.random.choice(REDIRECTS)},
            {"resource": f"{self.app.base}"},
            {"resource": "https://evil.example/mcp"},
            {"client_id": self.other.client_id},
            {"client_id": self.random.choice(CLIENTS)},
            {"client_secret": self.text()},
            {"grant_type": self.random.choice([None, "", "password", "client_credentials", "x"])},
            {"code": self.random.choice([None, "", self.text(), self.code[:-1], f"{self.code}x"])},
        ]
        fields = self.app.exchange(self.code)
        return await self.app.token(**{**fields, **self.random.choice(wrong)})

    async def refresh_wrongly(self):
        text = self.replaced["refresh_token"]
        wrong = [text, "", self.text(90), f"agr_{self.text(86)}", text[4:], text[:-1], f"{text}x"]
        client_id = self.random.choice([None, self.app.client_id])
        return await self.app.refresh(self.random.choice([*wrong, self.own]), client_id=client_id)

    async def name_the_client_in_two_ways(self):
        basic = (self.other.client_id, self.text())
        return await self.http.post(
            "/oauth/token",
            data=self.app.exchange(self.code) | {"client_id": self.app.client_id},
            auth=basic,
        )


ATTEMPTS = [
    name for name in vars(Attempts) if not name.startswith("_") and name not in {"text", "prepare"}
]
ROUND = 500  # after which a new code is asked for: one is valid for a minute


async def tokens_of(world):
    """Return the number of tokens."""
    return len((await world.admin.get("/api/access-tokens?limit=200")).json()["tokens"])


def check_refusal(response, told):
    """Check that a response grants nothing, leads nowhere, and cannot be framed."""
    assert response.status_code in (400, 401, 403), told
    assert "location" not in response.headers, told
    assert "set-cookie" not in response.headers, told
    assert "access_token" not in response.text, told
    if response.headers["content-type"].startswith("text/html"):
        policy = response.headers["content-security-policy"]
        assert policy.endswith("; frame-ancestors 'none'"), told
        assert policy.startswith("default-src 'none'; style-src 'sha256-"), told
        assert "evil" not in policy, told
    else:
        assert set(response.json()) == {"error", "error_description"}, told


@pytest.mark.tries(100, 1000)
async def test_wrong_requests_get_nothing(world, app, own, tries):
    new = {"name": "Other", "redirectUris": [REDIRECT]}
    made = (await world.admin.post("/api/oauth-clients", json=new)).json()
    other = App(app.http, made["clientId"], base=app.base)
    attempts = Attempts(Random(tries), app, other, own)
    for number in range(tries):
        if number % ROUND == 0:
            await attempts.prepare()
            tokens = await tokens_of(world)
        name = ATTEMPTS[number % len(ATTEMPTS)]
        response = await getattr(attempts, name)()
        check_refusal(response, f"{name}: {response.status_code} {response.text[:300]}")
        if number % ROUND == ROUND - 1:
            assert await tokens_of(world) == tokens
    assert await tokens_of(world) == tokens
    await attempts.prepare()
    right = await app.redeem(attempts.code)
    assert right.status_code == 200, right.text


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke", "/connect"])
async def test_tokens_are_not_read_from_a_query(http, own, path):
    response = await http.get(f"{path}?access_token={own}")
    assert response.status_code in (400, 401, 405)
    refused = await http.post(f"/mcp?access_token={own}", json={})
    assert refused.status_code == 401
