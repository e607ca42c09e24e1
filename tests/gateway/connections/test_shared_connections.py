"""A shared connection uses the credentials of its base and is a connection of its own."""

import consents
import httpx
import pytest
from sqlalchemy import text

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

MESSAGES = "/api/access/email/messages"
ACCOUNT = "me@provider-b.example"
TEAM = "team@provider-b.example"
OWN_SCOPES = ("Mail.ReadWrite", "Mail.Send", "User.Read")
SHARED_SCOPES = ("Mail.ReadWrite.Shared", "Mail.Send.Shared")
MAIL = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest.fixture
def base(connect, sandbox, gateway):
    """Connect a person's mailbox; return its id."""

    async def made(scopes=(*OWN_SCOPES, *SHARED_SCOPES), account=ACCOUNT, **more):
        token = sandbox.state.tokens.issue("providerB", account, scopes)
        credentials = {"accessToken": token}
        owner = await connect(
            "PROVIDER_B", account, grantedScopes=list(scopes), credentials=credentials, **more
        )
        for connection in (owner, owner + 1):  # ids begin anew after each test
            gateway.services.accounts.forget(connection)
        return owner

    return made


@pytest.fixture
def share(admin):
    async def made(base, **more):
        body = {"accountEmail": TEAM, **more}
        return await admin.post(f"/api/connections/{base}/shared", json=body)

    return made


@pytest.fixture
def other_place(admin):
    """Another operator with a resource."""

    async def made():
        person = {"email": "bob@example.org", "displayName": "Bob"}
        operator = (await admin.post("/api/operators", json=person)).json()["id"]
        new = {"name": "team", "operatorIds": [operator]}
        resource = (await admin.post("/api/resources", json=new)).json()["id"]
        return {"operatorId": operator, "resourceId": resource}

    return made


@pytest.fixture
def holder(admin):
    """Return the header of a token that may do everything with mail."""

    async def made(place, **settings):
        new = {
            "name": "reports",
            "operatorId": place["operatorId"],
            "resourceIds": [place["resourceId"]],
            "settings": {**MAIL, **settings},
        }
        answer = await admin.post("/api/access-tokens", json=new)
        return {"Authorization": f"Bearer {answer.json()['token']}"}

    return made


async def shown(admin, connection):
    return (await admin.get(f"/api/connections/{connection}")).json()


async def test_it_takes_after_its_base(admin, base, share, operator, resource):
    owner = await base()
    answer = await share(owner)

    assert answer.status_code == 201
    made = answer.json()
    assert made == {
        "id": made["id"],
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_B",
        "mode": None,
        "accountEmail": TEAM,
        "sharedOn": owner,
        "grantedScopes": [*OWN_SCOPES, *SHARED_SCOPES],
        "canWrite": True,
        "status": "active",
        "statusDetail": None,
        "statusCause": None,
        "expiresAt": None,
        "reconnectUrl": None,
        "lastOkAt": None,
        "selectedSiteIds": [],
        "baseUrl": None,
        "createdAt": made["createdAt"],
    }
    assert await shown(admin, made["id"]) == made
    listed = (await admin.get("/api/connections")).json()["connections"]
    assert [(each["id"], each["sharedOn"]) for each in listed] == [
        (owner, None),
        (made["id"], owner),
    ]


async def test_owner_and_resource_may_be_named(base, share, other_place):
    place = await other_place()
    made = (await share(await base(), readOnly=True, **place)).json()

    assert {name: made[name] for name in place} == place
    assert made["canWrite"] is False


@pytest.mark.parametrize(
    ("provider", "body", "field"),
    [
        ("PROVIDER_A", {}, "connectionId"),
        ("COLLAB", {}, "connectionId"),
        ("PROVIDER_B", {"accountEmail": ACCOUNT.upper()}, "accountEmail"),
        ("PROVIDER_B", {"accountEmail": "team"}, "accountEmail"),
        ("PROVIDER_B", {"resourceId": 99}, "resourceId"),
        ("PROVIDER_B", {"operatorId": "nobody"}, "operatorId"),
        ("PROVIDER_B", {"credentials": {"accessToken": "x"}}, "credentials"),
    ],
)
async def test_what_cannot_be_shared_is_refused(  # noqa: PLR0917 - fixtures and a row
    admin, connect, share, provider, body, field
):
    owner = await connect(provider, ACCOUNT)
    answer = await share(owner, **body)

    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["details"]] == [field]
    listed = (await admin.get("/api/connections")).json()["connections"]
    assert [each["id"] for each in listed] == [owner]


async def test_a_shared_connection_is_no_base(base, share):
    owner = await base()
    team = (await share(owner)).json()["id"]
    answer = await share(team, accountEmail="other@provider-b.example")

    assert answer.status_code == 400
    assert answer.json()["message"] == (
        f"connectionId is shared itself: share on connection {owner}."
    )
    assert (await share(99)).status_code == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"credentials": {"accessToken": "x"}}, "credentials"),
        ({"credentials": None}, "credentials"),
        ({"grantedScopes": ["Mail.Read"]}, "grantedScopes"),
        ({"baseUrl": None}, "baseUrl"),
    ],
)
async def test_what_its_base_decides_is_changed_there(admin, base, share, change, field):
    made = (await share(await base())).json()
    answer = await admin.patch(f"/api/connections/{made['id']}", json=change)

    assert answer.status_code == 400
    assert answer.json()["details"][0]["field"] == field
    assert await shown(admin, made["id"]) == made


async def test_its_mailbox_and_status_are_its_own(admin, base, share):
    owner = await base()
    team = (await share(owner, readOnly=True)).json()["id"]
    change = {"accountEmail": "sales@provider-b.example", "status": "disabled"}
    changed = (await admin.patch(f"/api/connections/{team}", json=change)).json()

    assert {name: changed[name] for name in change} == change
    assert changed["canWrite"] is False
    assert (await shown(admin, owner))["status"] == "active"


async def test_its_status_is_that_of_a_base_that_does_not_work(admin, client, base, share, holder):
    owner = await base()
    made = (await share(owner)).json()
    team = made["id"]
    token = await holder(made)
    await admin.patch(f"/api/connections/{owner}", json={"status": "disabled"})

    assert (await shown(admin, team))["status"] == "disabled"
    disabled = (await admin.get("/api/connections", params={"status": "disabled"})).json()
    assert [each["id"] for each in disabled["connections"]] == [owner, team]
    refused = await client.get(MESSAGES, headers=token)
    assert (refused.status_code, refused.json()["error"]) == (403, "NO_PROVIDER")
    await admin.patch(f"/api/connections/{owner}", json={"status": "active"})
    assert await shown(admin, team) == made


async def test_the_link_to_reconnect_is_that_of_its_base(admin, base, share, gateway):
    owner = await base()
    team = (await share(owner)).json()["id"]
    async with gateway.services.database.writing() as session:
        lost = text("UPDATE connections SET status = 'needs_reauth' WHERE id = :id")
        await session.exec(lost, params={"id": owner})

    link = (await shown(admin, owner))["reconnectUrl"]
    assert link
    assert (await shown(admin, team))["reconnectUrl"] == link
    answer = await admin.post(f"/api/connections/{team}/reconnect", json={})
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        f"This connection uses the consent of connection {owner}: reconnect that one."
    )


async def test_it_is_called_with_the_credentials_of_its_base(  # noqa: PLR0917 - fixtures
    admin, client, base, share, other_place, holder, sandbox
):
    """A token that reaches the shared mailbox alone sees nothing of the person's own."""
    place = await other_place()
    owner = await base()
    team = (await share(owner, **place)).json()["id"]
    token = await holder(place)
    calls = sandbox.upstreams["providerB"].calls
    calls.clear()

    await client.get(MESSAGES, headers=token)
    assert {call["path"].split("/")[2:4] == ["users", TEAM] for call in calls} == {True}
    accounts = (await client.get("/api/access/email/info", headers=token)).text
    assert ACCOUNT not in accounts
    calls.clear()
    mail = {"to": [{"email": "bob@example.org"}], "subject": "s", "body": "b"}
    send = "/api/access/email/messages/send"
    sent = await client.post(send, json={**mail, "connectionId": owner}, headers=token)
    assert (sent.status_code, sent.json()["error"], len(calls)) == (404, "CONNECTION_NOT_FOUND", 0)
    tested = await admin.post(f"/api/connections/{team}/test", json={})
    assert tested.json()["status"] == "error"  # the sandbox knows the token, not the mailbox
    await admin.patch(f"/api/connections/{owner}", json={"credentials": {"accessToken": "old"}})
    tested = await admin.post(f"/api/connections/{team}/test", json={})
    assert tested.json()["status"] == "needs_reauth"


async def test_removing_it_keeps_the_consent(admin, base, share):
    owner = await base()
    team = (await share(owner)).json()["id"]
    answer = await admin.delete(f"/api/connections/{team}")

    assert (answer.status_code, answer.headers["x-consent-revocation"]) == (204, "shared")
    assert (await shown(admin, owner))["status"] == "active"


@pytest.mark.parametrize("removed", ["connections", "operators", "resources"])
async def test_removing_its_base_removes_it(  # noqa: PLR0917 - fixtures and a row
    admin, base, share, other_place, holder, client, operator, resource, removed
):
    place = await other_place()
    owner = await base()
    team = (await share(owner, **place)).json()["id"]
    token = await holder(place)
    assert (await client.get(MESSAGES, headers=token)).status_code != 403
    names = {"connections": owner, "operators": operator, "resources": resource}
    answer = await admin.delete(f"/api/{removed}/{names[removed]}")

    assert (answer.status_code, answer.headers["x-consent-revocation"]) == (204, "not-consented")
    assert (await admin.get(f"/api/connections/{team}")).status_code == 404
    assert (await client.get(MESSAGES, headers=token)).status_code == 422


async def test_a_consent_asks_for_its_scopes_where_a_mailbox_is_shared(
    admin, client, connect, share
):
    owner = await connect("PROVIDER_B", ACCOUNT)

    def asked(url):
        return set(httpx.URL(url).params["scope"].split())

    begin = f"/api/connections/{owner}/reconnect"
    alone = asked((await admin.post(begin, json={})).json()["authorizeUrl"])
    assert not alone & set(SHARED_SCOPES)
    await share(owner)
    url = (await admin.post(begin, json={})).json()["authorizeUrl"]
    assert asked(url) == alone | set(SHARED_SCOPES)


async def test_a_missing_scope_is_its_own_and_goes_with_the_next_consent(
    admin, client, base, share
):
    owner = await base(OWN_SCOPES)
    team = (await share(owner)).json()["id"]
    tested = (await admin.post(f"/api/connections/{team}/test", json={})).json()

    assert (tested["ok"], tested["status"]) == (False, "needs_reauth")
    lacking = "Mail.ReadWrite.Shared, Mail.Send.Shared"
    assert tested["detail"] == (
        f"The connection needs to be reconnected: its consent does not include {lacking}."
    )
    assert (await shown(admin, team))["status"] == "needs_reauth"
    assert (await shown(admin, owner))["status"] == "active"
    begun = await admin.post(f"/api/connections/{owner}/reconnect", json={})
    back = await consents.agree(client, begun.json()["authorizeUrl"], login_hint=ACCOUNT)
    assert (await client.get(back)).status_code == 200
    made = await shown(admin, team)
    assert (made["status"], made["statusDetail"]) == ("active", None)
    assert set(SHARED_SCOPES) <= set(made["grantedScopes"])
