"""An app gets a child token by OAuth: metadata, the page, tokens, revocation."""

import pytest
from agent_client import Agent, legacy
from sign_in_client import REDIRECT, App

from gateway.sign_in import grants, requests

SCOPES = [
    *("reader", "drafts", "sender", "calendar-busy", "tasks", "files-reader", "full"),
    *("mailbox-assistant", "supervised"),
]


async def test_a_client_finds_out_how_to_sign_in(http, base):
    refused = await http.post("/mcp", json=legacy("ping"))
    metadata = f"{base}/.well-known/oauth-protected-resource/mcp"

    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == (
        f'Bearer error="invalid_token", resource_metadata="{metadata}", scope="{" ".join(SCOPES)}"'
    )
    assert (await http.get(metadata)).json() == {
        "resource": f"{base}/mcp",
        "resource_name": "access-gateway",
        "authorization_servers": [base],
        "bearer_methods_supported": ["header"],
        "scopes_supported": SCOPES,
    }
    whole = (await http.get("/.well-known/oauth-protected-resource")).json()
    assert (whole["resource"], whole["scopes_supported"]) == (base, SCOPES[:-2])
    assert (await http.get("/.well-known/oauth-authorization-server")).json() == {
        "issuer": base,
        "authorization_endpoint": f"{base}/connect",
        "token_endpoint": f"{base}/oauth/token",
        "revocation_endpoint": f"{base}/oauth/revoke",
        "scopes_supported": SCOPES,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": [
            "none",
            "client_secret_post",
            "client_secret_basic",
        ],
        "revocation_endpoint_auth_methods_supported": [
            "none",
            "client_secret_post",
            "client_secret_basic",
        ],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }


async def test_a_grant_is_a_child_token_of_the_person(world, app, own, base):
    answer = await app.grant(own, preset="drafts", scope="full drafts")
    redeemed = await app.redeem(answer["code"])

    assert answer == {"code": answer["code"], "state": app.state, "iss": base}
    tokens = redeemed.json()
    assert tokens == {
        "access_token": tokens["access_token"],
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_token": tokens["refresh_token"],
        "scope": "drafts",
    }
    assert redeemed.headers["cache-control"] == "no-store"
    async with world.client(own) as holder:
        (child,) = (await holder.get("/api/access/token/children")).json()["children"]
    assert child["name"] == "An app (registered)"
    assert child["settings"]["sendMode"] == "draft"
    assert child["settings"]["allowChildren"] is False
    assert child["keyId"] == tokens["access_token"][4:12]
    async with world.client(tokens["access_token"]) as client:
        assert "draft_mail" in await Agent(client).tools()
    log = (await world.admin.get("/api/decisions", params={"limit": "20"})).json()["decisions"]
    rows = [(row["operation"], row["actor"].split()[0]) for row in log if row["door"] == "sign-in"]
    assert rows == [("rotateToken", "client"), ("createToken", "token")]


async def test_a_grant_of_a_person_releases_none_of_the_person_s_writes(world, app):
    own = await world.token({"allowChildren": True, "writes": "approve"})
    tokens = await app.sign_in(own, preset="full", scope="full")
    mail = {"to": [{"email": "anna@work.example"}], "subject": "Hi", "body": "Hello."}
    async with world.client(own) as person, world.client(tokens["access_token"]) as granted:
        held = (await person.post("/api/access/email/messages/send", json=mail)).json()
        for client in (granted, person):
            for verb in ("release", "reject"):
                answer = await client.post(f"/api/held-writes/{held['id']}/{verb}")
                assert answer.status_code == 403
                assert answer.json()["error"] == "ADMIN_REQUIRED"
        state = (await person.get(f"/api/access/writes/{held['id']}")).json()["state"]

    assert state == "held"
    assert world.sent("provider-a") == []


async def test_the_audience_is_the_resource(world, app, own, base):
    agent = await app.sign_in(own)
    whole = await app.sign_in(own, resource=base)

    async with world.client(agent["access_token"]) as client:
        for call in (client.get("/api/access/token"), client.post("/graphql", json={})):
            refused = await call
            body = refused.json()
            assert refused.status_code == 401
            told = body["errors"][0]["extensions"] if "errors" in body else body
            assert told["reason"] == "WRONG_AUDIENCE"
    async with world.client(whole["access_token"]) as client:
        assert (await client.get("/api/access/token")).status_code == 200
        assert (await client.get("/api/access/email/messages")).status_code == 200
        assert (await Agent(client).send("tools/list")).status_code == 200


async def test_refresh_tokens_rotate_and_a_second_use_ends_the_grant(app, own, agent_of):
    first = await app.sign_in(own)
    second = (await app.refresh(first["refresh_token"])).json()

    assert (await agent_of(first["access_token"]), await agent_of(second["access_token"])) == (
        401,
        200,
    )
    replayed = await app.refresh(first["refresh_token"])
    assert (replayed.status_code, replayed.json()["error"]) == (400, "invalid_grant")
    assert await agent_of(second["access_token"]) == 401
    assert (await app.refresh(second["refresh_token"])).status_code == 400


async def test_a_code_is_redeemed_once_and_a_second_use_ends_the_grant(app, own, agent_of):
    code = (await app.grant(own))["code"]
    tokens = (await app.redeem(code)).json()
    again = await app.redeem(code)

    assert (again.status_code, again.json()) == (
        400,
        {
            "error": "invalid_grant",
            "error_description": "The code was used already; its grant has ended.",
        },
    )
    assert await agent_of(tokens["access_token"]) == 401


async def test_an_app_revokes_what_it_was_granted(http, app, own, agent_of):
    for name in ("access_token", "refresh_token"):
        tokens = await app.sign_in(own)
        fields = {"client_id": app.client_id, "token": tokens[name]}
        revoked = await http.post("/oauth/revoke", data=fields)
        assert (revoked.status_code, revoked.content) == (200, b"")
        assert await agent_of(tokens["access_token"]) == 401
        assert (await app.refresh(tokens["refresh_token"])).status_code == 400
    unknown = await http.post("/oauth/revoke", data={"client_id": app.client_id, "token": "x"})
    assert unknown.status_code == 200


async def test_another_client_can_neither_refresh_nor_revoke(world, app, own, agent_of):
    new = {"name": "Other", "redirectUris": [REDIRECT]}
    other = (await world.admin.post("/api/oauth-clients", json=new)).json()
    http, stranger = app.http, App(app.http, other["clientId"], base=app.base)
    stranger.verifier = app.verifier
    tokens = await app.sign_in(own)
    code = (await app.grant(own))["code"]

    assert (await stranger.redeem(code)).json()["error"] == "invalid_grant"
    assert (await stranger.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    fields = {"client_id": stranger.client_id, "token": tokens["access_token"]}
    assert (await http.post("/oauth/revoke", data=fields)).status_code == 400
    assert await agent_of(tokens["access_token"]) == 200
    assert (await app.redeem(code)).status_code == 200


async def test_the_holder_and_the_operator_end_a_grant(world, app, own, agent_of):
    tokens = [await app.sign_in(own) for _ in range(3)]
    async with world.client(own) as holder:
        children = (await holder.get("/api/access/token/children")).json()["children"]
        await holder.delete(f"/api/access/token/children/{children[0]['id']}")
    assert [await agent_of(each["access_token"]) for each in tokens] == [401, 200, 200]
    await world.admin.delete(f"/api/access-tokens/{children[1]['id']}")
    assert [await agent_of(each["access_token"]) for each in tokens] == [401, 401, 200]
    await world.admin.delete(f"/api/oauth-clients/{app.client_id}")
    assert [await agent_of(each["access_token"]) for each in tokens] == [401, 401, 401]
    assert (await app.refresh(tokens[2]["refresh_token"])).json()["error"] == "invalid_client"


async def test_a_grant_that_is_not_fetched_ends_with_its_code(world, app, own):
    await app.grant(own, days="0")
    async with world.client(own) as holder:
        (child,) = (await holder.get("/api/access/token/children")).json()["children"]

    assert child["expiresAt"] is not None
    code = (await app.grant(own, days="0"))["code"]
    assert (await app.redeem(code)).status_code == 200
    async with world.client(own) as holder:
        children = (await holder.get("/api/access/token/children")).json()["children"]
    assert [child["expiresAt"] is None for child in children] == [False, True]


async def test_the_person_chooses_accounts(world, app, own):
    chosen = world.connections["PROVIDER_A"]
    await app.sign_in(own, accounts=[chosen])
    async with world.client(own) as holder:
        (child,) = (await holder.get("/api/access/token/children")).json()["children"]
    assert child["settings"]["allowedConnectionIds"] == [chosen]
    none = await app.post(await app.prove(own), answer="grant", preset="reader", days="1")
    assert none.status_code == 400
    assert "Choose at least one account." in none.text


async def test_a_one_time_link_stands_for_a_token_that_may_have_no_children(world, app, http):
    closed = await world.token({})
    async with world.client(closed) as holder:
        token_id = (await holder.get("/api/access/token")).json()["id"]
    refused = await app.prove(closed)
    assert refused.status_code == 403
    assert "its setting allowChildren is off" in refused.text
    made = await world.admin.post(f"/api/access-tokens/{token_id}/sign-in-links")
    link = made.json()["url"]
    assert made.status_code == 201
    assert (await http.get(link)).status_code == 200

    assert (await app.sign_in(link))["scope"] == "reader"
    assert (await app.prove(link)).status_code == 403


async def test_a_confidential_client_proves_its_secret(world, http, base, own):
    new = {"name": "Server", "redirectUris": [REDIRECT], "hasSecret": True}
    made = (await world.admin.post("/api/oauth-clients", json=new)).json()
    app = App(http, made["clientId"], base=base, secret=made["clientSecret"])
    code = (await app.grant(own))["code"]

    for secret in (None, "wrong"):
        refused = await app.redeem(code, client_secret=secret)
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    basic = await http.post(
        "/oauth/token", data=app.exchange(code), auth=(app.client_id, app.secret)
    )
    assert basic.status_code == 200
    listed = (await world.admin.get("/api/oauth-clients")).json()["clients"]
    assert [{**row, "clientSecret": made["clientSecret"]} for row in listed] == [made]


async def test_declining_tells_the_app_and_grants_nothing(world, app, own, base):
    for page in (await app.ask(), await app.prove(own)):
        declined = await app.post(page, answer="decline")
        assert declined.status_code == 303
        assert declined.headers["location"] == (
            f"{REDIRECT}?error=access_denied&state={app.state}"
            f"&iss={base.replace(':', '%3A').replace('/', '%2F')}"
        )
    async with world.client(own) as holder:
        assert (await holder.get("/api/access/token/children")).json() == {"children": []}


async def test_an_app_registers_itself_only_with_the_setting(http):
    document = {"redirect_uris": ["http://127.0.0.1:3000/cb"], "client_name": "Self\u202e"}
    refused = await http.post("/oauth/register", json=document)
    assert refused.status_code == 404


@pytest.mark.parametrize("path", ["/connect", "/connect/x"])
async def test_pages_have_a_strict_policy_and_set_no_cookie(app, http, path):
    page = await app.ask() if path == "/connect" else await http.get(path)

    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["referrer-policy"] == "same-origin"
    assert "set-cookie" not in page.headers
    assert "<script" not in page.text


async def test_names_of_strangers_are_text(world, http, base, own):
    new = {"name": "<b>x</b>", "redirectUris": [REDIRECT]}
    made = (await world.admin.post("/api/oauth-clients", json=new)).json()
    page = await App(http, made["clientId"], base=base).ask()

    assert "&lt;b&gt;x&lt;/b&gt;" in page.text
    assert "<b>" not in page.text
    assert '<p class="host">app.example</p>' in page.text


async def test_codes_links_and_forms_end_by_themselves(world, app, own, monkeypatch):
    page = await app.prove(own)
    monkeypatch.setattr(grants, "CODE_MS", 0)
    refused = await app.redeem((await app.grant(own))["code"])
    assert refused.json() == {"error": "invalid_grant", "error_description": "The code is too old."}
    monkeypatch.setattr(grants, "LINK_MS", 0)
    made = await world.admin.post("/api/access-tokens/1/sign-in-links")
    assert (await app.prove(made.json()["url"])).status_code == 403
    later = requests.now_ms() + requests.FORM_MS
    monkeypatch.setattr(requests, "now_ms", lambda: later)
    late = await app.post(page, answer="grant")
    assert late.status_code == 400
    assert "This form is too old." in late.text


async def test_a_narrowed_parent_narrows_the_grant_at_the_next_request(world, app, own):
    tokens = await app.sign_in(own)
    async with world.client(own) as holder:
        token_id = (await holder.get("/api/access/token")).json()["id"]
    async with world.client(tokens["access_token"]) as client:
        assert "find_mail" in await Agent(client).tools()
        narrower = {"settings": {"allowedEmailOperations": []}}
        await world.admin.patch(f"/api/access-tokens/{token_id}", json=narrower)
        assert await Agent(client).tools() == {}


async def test_a_grant_ends_with_the_token_of_the_person(world, app):
    own = await world.token({"allowChildren": True}, expiresAt="2098-01-01T00:00:00Z")
    await app.sign_in(own, days="0")
    async with world.client(own) as holder:
        (child,) = (await holder.get("/api/access/token/children")).json()["children"]
    assert child["expiresAt"] == "2098-01-01T00:00:00Z"


async def test_what_was_granted_to_an_app_proves_nothing(app, own, base):
    agent = await app.sign_in(own)
    whole = await app.sign_in(own, resource=base)

    assert "This token was granted to an app." in (await app.prove(agent["access_token"])).text
    refused = await app.prove(whole["access_token"])
    assert refused.status_code == 403
    assert "its setting allowChildren is off" in refused.text


async def test_a_scope_that_was_not_granted_is_refused_at_a_refresh(app, own, agent_of):
    tokens = await app.sign_in(own)
    refused = await app.refresh(tokens["refresh_token"], scope="full")

    assert refused.json()["error"] == "invalid_scope"
    assert await agent_of(tokens["access_token"]) == 200
    assert (await app.refresh(tokens["refresh_token"], scope="full reader")).status_code == 200
