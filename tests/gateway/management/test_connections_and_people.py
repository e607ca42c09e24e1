"""Operators, resources and connections; credentials go in and never come back."""

import pytest
import pytest_asyncio
from sqlalchemy import text

from gateway.secrets.keyring import Keyring
from gateway.store import timestamps

DAY_MS = 24 * 60 * 60 * 1000
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]


async def test_operators_are_created_read_changed_and_deleted(admin):
    new = {"email": "ada@example.org", "displayName": "Ada"}
    response = await admin.post("/api/operators", json=new)

    assert response.status_code == 201
    made = response.json()
    assert made == {"id": made["id"], **new, "createdAt": made["createdAt"]}
    url = f"/api/operators/{made['id']}"
    changed = await admin.patch(url, json={"displayName": "Ada L."})
    assert (changed.status_code, changed.json()) == (200, {**made, "displayName": "Ada L."})
    assert (await admin.get(url)).json() == changed.json()
    listed = (await admin.get("/api/operators")).json()
    assert listed == {"operators": [changed.json()], "nextPageToken": None, "hasMore": False}
    assert (await admin.delete(url)).status_code == 204
    for method in ("GET", "PATCH", "DELETE"):
        gone = await admin.request(method, url, json={})
        assert (gone.status_code, gone.json()["error"]) == (404, "OPERATOR_NOT_FOUND")


@pytest.mark.parametrize("email", ["ada", "@example.org", "ada@", "a da@example.org", "a\n@b", 5])
async def test_an_operator_needs_an_address(admin, email):
    response = await admin.post("/api/operators", json={"email": email, "displayName": "Ada"})

    assert response.status_code == 400
    assert [detail["field"] for detail in response.json()["details"]] == ["email"]


@pytest.mark.parametrize(("length", "status"), [(1, 201), (200, 201), (201, 400), (0, 400)])
async def test_a_display_name_has_up_to_200_characters(admin, length, status):
    new = {"email": "ada@example.org", "displayName": "A" * length}
    response = await admin.post("/api/operators", json=new)

    assert response.status_code == status
    names = [
        operator["displayName"]
        for operator in (await admin.get("/api/operators")).json()["operators"]
    ]
    assert names == ([new["displayName"]] if status == 201 else [])


async def test_operators_page_oldest_first(admin):
    made = [
        (
            await admin.post(
                "/api/operators", json={"email": f"o{n}@example.org", "displayName": "O"}
            )
        ).json()["id"]
        for n in range(5)
    ]
    seen, page = [], {}
    while page is not None:
        answer = (await admin.get("/api/operators", params={"limit": 2, **page})).json()
        seen += [operator["id"] for operator in answer["operators"]]
        page = {"pageToken": answer["nextPageToken"]} if answer["hasMore"] else None

    assert sorted(seen) == sorted(made)
    assert len(seen) == 5


async def test_deleting_an_operator_revokes_tokens_and_removes_connections(
    admin, operator, token, connection
):
    await admin.delete(f"/api/operators/{operator}")

    assert (await admin.get("/api/access-tokens/1")).json()["status"] == "revoked"
    assert (await admin.get("/api/connections")).json()["connections"] == []
    assert (await admin.get("/api/resources/1")).json()["operatorIds"] == []


async def test_resources_are_created_read_changed_and_deleted(admin, operator):
    response = await admin.post("/api/resources", json={"name": "main"})

    assert response.status_code == 201
    made = response.json()
    assert made == {"id": 1, "name": "main", "operatorIds": [], "createdAt": made["createdAt"]}
    changed = await admin.patch("/api/resources/1", json={"operatorIds": [operator, operator]})
    assert changed.json() == {**made, "operatorIds": [operator]}
    listed = (await admin.get("/api/resources")).json()
    assert listed == {"resources": [changed.json()], "nextPageToken": None, "hasMore": False}
    assert (await admin.delete("/api/resources/1")).status_code == 204
    gone = await admin.get("/api/resources/1")
    assert (gone.status_code, gone.json()["error"]) == (404, "RESOURCE_NOT_FOUND")
    again = await admin.post("/api/resources", json={"name": "next"})
    assert again.json()["id"] == 2  # ids are never given out twice


async def test_a_resource_links_known_operators_only(admin, operator):
    response = await admin.post(
        "/api/resources", json={"name": "main", "operatorIds": [operator, "nobody"]}
    )

    assert response.status_code == 400
    assert response.json()["details"] == [
        {"field": "operatorIds[1]", "message": "is not an operator"}
    ]
    assert (await admin.get("/api/resources")).json()["resources"] == []


async def test_deleting_a_resource_takes_it_from_its_tokens(admin, resource, token, connection):
    await admin.delete(f"/api/resources/{resource}")

    assert (await admin.get("/api/access-tokens/1")).json()["resourceIds"] == []
    assert (await admin.get("/api/connections/1")).status_code == 404


@pytest.fixture
def new_connection(operator, resource):
    return {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": "ada@example.org",
        "grantedScopes": ["mail.readonly"],
        "credentials": {"accessToken": "upstream-secret", "refreshToken": "renewing-secret"},
    }


@pytest_asyncio.fixture(loop_scope="module")
async def connection(admin, new_connection):
    return (await admin.post("/api/connections", json=new_connection)).json()


async def test_a_connection_never_shows_its_credentials(admin, new_connection, operator, resource):
    response = await admin.post("/api/connections", json=new_connection)

    assert response.status_code == 201
    made = response.json()
    assert made == {
        "id": 1,
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "mode": None,
        "accountEmail": "ada@example.org",
        "grantedScopes": ["mail.readonly"],
        "canWrite": False,
        "status": "active",
        "statusDetail": None,
        "statusCause": None,
        "expiresAt": timestamps.to_text(timestamps.parse(made["createdAt"]) + 178 * DAY_MS),
        "reconnectUrl": None,
        "lastOkAt": None,
        "sharedOn": None,
        "selectedSiteIds": [],
        "baseUrl": None,
        "createdAt": made["createdAt"],
    }
    for answer in (
        await admin.get("/api/connections/1"),
        await admin.get("/api/connections"),
        await admin.patch("/api/connections/1", json={"credentials": {"apiToken": "other-secret"}}),
    ):
        assert answer.status_code == 200
        assert "secret" not in answer.text


async def test_credentials_are_sealed_for_their_row(admin, new_connection, gateway):
    for _ in range(2):
        await admin.post("/api/connections", json=new_connection)

    async with gateway.services.database.reading() as session:
        rows = (await session.exec(text("SELECT id, credentials FROM connections"))).all()
    ring = Keyring(["a secret key of the tests"])
    assert b"secret" not in rows[0][1]
    assert b"upstream-secret" in ring.decrypt(rows[0][1], context="connections:1:credentials")
    with pytest.raises(ValueError, match="another context"):
        ring.decrypt(rows[0][1], context="connections:2:credentials")


@pytest.mark.parametrize(
    ("scopes", "can_write"),
    [
        pytest.param([], False, id="no scope"),
        pytest.param(["https://www.googleapis.com/auth/gmail.readonly"], False, id="A reads"),
        pytest.param(["https://www.googleapis.com/auth/gmail.modify"], True, id="A changes"),
        pytest.param(["https://mail.google.com/"], True, id="A, everything"),
        pytest.param(["Mail.Read", "User.Read"], False, id="B reads"),
        pytest.param(["Mail.Read", "Mail.Send"], True, id="B sends"),
        pytest.param(["Files.Read.All", "Sites.Read.All"], False, id="collab reads"),
        pytest.param(["Files.ReadWrite.All"], True, id="collab writes"),
        pytest.param(["boards:read", "boards:write"], True, id="boards"),
    ],
)
async def test_write_access_follows_from_the_scopes(admin, new_connection, scopes, can_write):
    response = await admin.post(
        "/api/connections", json={**new_connection, "grantedScopes": scopes}
    )

    assert response.json()["canWrite"] is can_write


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"kind": "fax"}, "kind", id="unknown kind"),
        pytest.param({"provider": "PROVIDER_C"}, "provider", id="unknown provider"),
        pytest.param({"provider": "COLLAB"}, "provider", id="a provider of another kind"),
        pytest.param({"mode": "delegated"}, "mode", id="a mode on mail"),
        pytest.param({"selectedSiteIds": ["s"]}, "selectedSiteIds", id="sites on mail"),
        pytest.param({"resourceId": 99}, "resourceId", id="unknown resource"),
        pytest.param({"operatorId": "x"}, "operatorId", id="unknown operator"),
        pytest.param({"credentials": {}}, "credentials", id="no credential in it"),
        pytest.param(
            {"credentials": {"accessToken": "a", "apiToken": "b"}}, "credentials", id="two forms"
        ),
        pytest.param(
            {"credentials": {"clientId": "a", "tenant": "b"}}, "credentials", id="half a form"
        ),
        *(
            pytest.param(
                {"credentials": {"clientId": "a", "clientSecret": "b", "tenant": tenant}},
                "credentials.tenant",
                id=f"tenant {tenant}",
            )
            for tenant in ("common", "organizations", "Consumers ")
        ),
        pytest.param(
            {"credentials": {"passphrase": "a"}}, "credentials.passphrase", id="unknown credential"
        ),
        pytest.param({"baseUrl": "https://evil.example"}, "baseUrl", id="a host not allowed"),
        pytest.param({"baseUrl": "file:///etc/passwd"}, "baseUrl", id="no http URL"),
        pytest.param({"baseUrl": "https://upstream.example@evil.example/"}, "baseUrl", id="a user"),
        pytest.param({"baseUrl": "https://upstream.example:444/"}, "baseUrl", id="another port"),
        pytest.param({"baseUrl": "http://upstream.example"}, "baseUrl", id="without TLS"),
        pytest.param({"baseUrl": "http://upstream.example:443"}, "baseUrl", id="no TLS on 443"),
        pytest.param({"baseUrl": "https://upstream.example/%2e%2e/x"}, "baseUrl", id="coded dots"),
        pytest.param({"baseUrl": "https://upstream.example/../x"}, "baseUrl", id="dots"),
        pytest.param({"baseUrl": "https://upstream.example/?a=b"}, "baseUrl", id="a query"),
        pytest.param({"status": "active"}, "status", id="a status cannot be given"),
    ],
)
async def test_an_invalid_body_creates_no_connection(admin, new_connection, change, field):
    response = await admin.post("/api/connections", json={**new_connection, **change})

    assert response.status_code == 400
    assert response.json()["error"] == "VALIDATION_ERROR"
    assert [detail["field"] for detail in response.json()["details"]] == [field]
    assert (await admin.get("/api/connections")).json()["connections"] == []


async def test_a_connection_is_created_on_a_resource_of_its_operator_alone(
    admin, new_connection, resource
):
    await admin.patch(f"/api/resources/{resource}", json={"operatorIds": []})
    response = await admin.post("/api/connections", json=new_connection)

    why = f"names resource {resource}, which the operator is not linked to"
    assert response.status_code == 400
    assert response.json()["error"] == "VALIDATION_ERROR"
    assert response.json()["details"] == [{"field": "resourceId", "message": why}]
    assert (await admin.get("/api/connections")).json()["connections"] == []


async def test_an_allowed_base_url_is_kept_without_its_last_slash(admin, new_connection):
    response = await admin.post(
        "/api/connections", json={**new_connection, "baseUrl": "https://Upstream.example/prefix/"}
    )

    assert response.json()["baseUrl"] == "https://Upstream.example/prefix"


async def test_collab_connections_have_a_mode(admin, new_connection):
    collab = {
        **new_connection,
        "kind": "collab",
        "provider": "COLLAB",
        "mode": "selected_sites",
        "selectedSiteIds": ["host.example,a,b"],
    }
    made = (await admin.post("/api/connections", json=collab)).json()
    plain = {key: value for key, value in collab.items() if key not in {"mode", "selectedSiteIds"}}
    other = (await admin.post("/api/connections", json=plain)).json()

    assert (made["mode"], made["selectedSiteIds"]) == ("selected_sites", ["host.example,a,b"])
    assert (other["mode"], other["selectedSiteIds"]) == ("delegated", [])


async def test_app_only_credentials_name_one_tenant(admin, new_connection):
    client = {"clientId": "a", "clientSecret": "b"}
    collab = {
        **new_connection,
        "kind": "collab",
        "provider": "COLLAB",
        "mode": "selected_sites",
        "credentials": {**client, "tenant": "contoso.example"},
    }
    made = await admin.post("/api/connections", json=collab)
    url = f"/api/connections/{made.json()['id']}"
    change = {"credentials": {**client, "tenant": "common"}}
    refused = await admin.patch(url, json=change)

    assert (made.status_code, refused.status_code) == (201, 400)
    assert refused.json()["details"] == [
        {
            "field": "credentials.tenant",
            "message": "must be the id or a domain of one tenant, not a word for all of them",
        }
    ]
    assert (await admin.get(url)).json() == made.json()


@pytest.mark.parametrize("change", [{"mode": "selected_sites"}, {"selectedSiteIds": []}])
async def test_a_mail_connection_accepts_no_sites(admin, connection, change):
    url = f"/api/connections/{connection['id']}"
    response = await admin.patch(url, json=change)

    assert response.status_code == 400
    assert [detail["field"] for detail in response.json()["details"]] == list(change)
    assert (await admin.get(url)).json() == connection


async def test_a_connection_can_be_switched_off_and_on(admin, connection):
    url = f"/api/connections/{connection['id']}"

    assert (await admin.patch(url, json={"status": "disabled"})).json()["status"] == "disabled"
    new = {"credentials": {"accessToken": "x"}}
    assert (await admin.patch(url, json=new)).json()["status"] == "disabled"
    assert (await admin.patch(url, json={"status": "active"})).json()["status"] == "active"
    refused = await admin.patch(url, json={"status": "error"})
    assert refused.status_code == 400


async def test_connections_are_filtered(admin, new_connection, resource):
    await admin.post("/api/connections", json=new_connection)
    await admin.post(
        "/api/connections", json={**new_connection, "kind": "calendar", "provider": "PROVIDER_B"}
    )

    async def kinds(**params):
        connections = (await admin.get("/api/connections", params=params)).json()["connections"]
        return [connection["kind"] for connection in connections]

    assert await kinds() == ["email", "calendar"]
    assert await kinds(kind="calendar") == ["calendar"]
    assert await kinds(resourceId=resource) == ["email", "calendar"]
    assert await kinds(resourceId=99) == []
    for too_long in (-(2**63) - 1, 2**63):
        refused = await admin.get("/api/connections", params={"resourceId": too_long})
        assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_PARAMETER")
    assert await kinds(status="needs_reauth") == []


async def test_a_connection_is_deleted(admin, connection):
    url = f"/api/connections/{connection['id']}"

    assert (await admin.delete(url)).status_code == 204
    for method, below in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test")):
        gone = await admin.request(method, url + below, json={})
        assert (gone.status_code, gone.json()["error"]) == (404, "CONNECTION_NOT_FOUND")


@pytest.mark.parametrize("identifier", ["x%00y", "%F0%9F%98%80", "a" * 300, "x%0Ay"])
async def test_an_invalid_operator_id_is_404(admin, identifier):
    response = await admin.get(f"/api/operators/{identifier}")

    assert (response.status_code, response.json()["error"]) == (404, "OPERATOR_NOT_FOUND")


@pytest.mark.parametrize("number", ["9223372036854775808", "9" * 30, "9" * 5000, "-"])
async def test_a_filter_beyond_64_bits_is_refused(admin, number):
    response = await admin.get("/api/connections", params={"resourceId": number})

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")


async def test_metrics_count_connections_by_status(admin, connection):
    counted = (await admin.get("/metrics")).text
    assert 'agw_connections{provider="PROVIDER_A",status="active"} 1.0\n' in counted

    await admin.patch(f"/api/connections/{connection['id']}", json={"status": "disabled"})
    counted = (await admin.get("/metrics")).text
    assert 'agw_connections{provider="PROVIDER_A",status="disabled"} 1.0\n' in counted
    assert 'status="active"' not in counted


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"accountEmail": "ada@-"}, "accountEmail", id="no domain"),
        pytest.param({"baseUrl": "https://mail.example.org"}, "baseUrl", id="no mail server"),
        pytest.param({"submissionUrl": "smtp+plain://x.org"}, "submissionUrl", id="plain text"),
        pytest.param({"calendarUrl": "http://x.org"}, "calendarUrl", id="plain http"),
        pytest.param({"kinds": []}, "kinds", id="nothing"),
        pytest.param({"kinds": ["tasks"]}, "kinds[0]", id="another kind"),
        pytest.param({"password": "a", "accessToken": "b"}, "accessToken", id="two secrets"),
        pytest.param({"confirmedHosts": ["a"] * 21}, "confirmedHosts", id="many hosts"),
        pytest.param({"host": "a"}, "host", id="an unknown member"),
    ],
)
async def test_a_search_for_servers_names_what_is_wrong(admin, changes, field):
    wanted = {"accountEmail": "ada@example.org", **changes}

    refused = await admin.post("/api/connections/discover", json=wanted)

    assert refused.status_code == 400
    assert [detail["field"] for detail in refused.json()["details"]] == [field]
