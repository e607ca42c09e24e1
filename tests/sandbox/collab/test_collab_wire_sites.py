"""Sites, and what each kind of caller may."""

import httpx
import pytest

from sandbox.collab import records as r


def code(response):
    return response.status_code, response.json()["error"]["code"]


def paths(response):
    return [site["webUrl"].partition(".test")[2] for site in response.json()["value"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?search=*", ["", "/sites/yard", "/personal/ann", ""]),  # one repeated
        ("?search=", ["", "/sites/yard", "/personal/ann"]),
        ("?$search=%22yard%22", ["/sites/yard"]),
        ("?search=YARD", ["/sites/yard"]),
        ("?search=nothing", []),
        ("", ["", "/sites/yard", "/personal/ann"]),
        ("?search=*&$top=1&$orderby=createdDateTime", [""]),
        ("?$filter=isPersonalSite eq true", ["/personal/ann"]),
    ],
)
async def test_search_returns_only_readable_sites(client, query, expected):
    assert paths(await client.get(f"/sites{query}")) == expected


async def test_site_has_all_members(client, world):
    record = (await client.get(f"/sites/{world.mine.id.upper()}")).json()

    assert record == {
        "@odata.context": "http://sandbox.test/collab/v1.0/$metadata#sites/$entity",
        "createdDateTime": "2026-01-05T08:00:00Z",
        "description": "",
        "id": world.mine.id,
        "lastModifiedDateTime": "2026-01-05T08:00:00Z",
        "name": "ann",
        "webUrl": "https://people.x.test/personal/ann",
        "displayName": "Ann Miller",
        "isPersonalSite": True,
        "siteCollection": {"hostname": "people.x.test"},
        "root": {},
    }


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("root", ""),
        ("content.x.test", ""),
        ("content.x.test:/sites/yard", "/sites/yard"),
        ("people.x.test:/personal/ann:", "/personal/ann"),
    ],
)
async def test_site_is_addressed_by_id_host_or_path(client, reference, expected):
    response = await client.get(f"/sites/{reference}?$select=webUrl")

    assert response.json()["webUrl"].partition(".test")[2] == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("a,b,c", (400, "invalidRequest")),
        (
            "x.test," + ",".join(["0" * 8 + "-0000-0000-0000-" + "0" * 12] * 2),
            (404, "itemNotFound"),
        ),
        ("content.x.test:/sites/none", (404, "itemNotFound")),
        ("unknown.test", (404, "itemNotFound")),
        ("nonsense", (400, "invalidRequest")),
        ("content.x.test:/sites/board", (403, "accessDenied")),
    ],
)
async def test_unknown_or_restricted_site_is_refused(client, reference, expected):
    assert code(await client.get(f"/sites/{reference}")) == expected


async def test_followed_sites_are_listed(client):
    assert paths(await client.get("/me/followedSites")) == ["/sites/yard"]


async def test_me_returns_the_calling_user(client):
    select = "mail,userPrincipalName,proxyAddresses,displayName"
    user = (await client.get(f"/me?$select={select}")).json()

    assert {name: user[name] for name in select.split(",")} == {
        "mail": "ann@x.test",
        "userPrincipalName": "a.miller@x.onmicrosoft.test",
        "proxyAddresses": ["SMTP:ann@x.test"],
        "displayName": "Ann Miller",
    }


async def test_me_needs_a_scope_of_its_own(client_with):
    refused = await client_with("Sites.Read.All").get("/me")

    assert code(refused) == (403, "Authorization_RequestDenied")


@pytest.mark.parametrize(
    "path", ["/sites/getAllSites", "/sites/getAllSites()", "/sites/oneDrive.getAllSites"]
)
async def test_all_sites_are_listed_for_applications_only(client, client_with, path):
    application = client_with("Sites.Read.All", account="other", app_only=True)

    assert len((await application.get(path)).json()["value"]) == 5
    assert code(await client.get(path)) == (403, "accessDenied")


# -- permissions


@pytest.mark.parametrize(
    ("scopes", "statuses"),
    [
        (("Files.ReadWrite.All", "Sites.ReadWrite.All"), (200, 200, 201, 201)),
        (("Files.Read.All", "Sites.Read.All"), (200, 200, 403, 403)),
        (("Files.ReadWrite.All",), (200, 403, 201, 403)),
        (("Sites.Read.All",), (200, 200, 403, 403)),
        (("User.Read",), (403, 403, 403, 403)),
        (("https://graph.example/Sites.ReadWrite.All",), (200, 200, 201, 201)),
    ],
)
async def test_calls_need_their_scopes(client_with, world, scopes, statuses):
    client = client_with(*scopes)
    drive, site = world.documents.drive_id, world.yard.id
    answers = [
        await client.get(f"/drives/{drive}/root/children"),
        await client.get(f"/sites/{site}/lists"),
        await client.post(f"/drives/{drive}/root/children", json={"name": "n", "folder": {}}),
        await client.post(f"/sites/{site}/lists/Berths/items", json={"fields": {"Title": "n"}}),
    ]

    assert tuple(answer.status_code for answer in answers) == statuses


async def test_application_sees_only_selected_sites(client_with, world):
    client = client_with("Sites.Selected", account="app", app_only=True)
    drive, site = world.documents.drive_id, world.yard.id
    query = {"requests": [{"entityTypes": ["site"], "query": {"queryString": "x"}, "region": "E"}]}

    assert (await client.get(f"/sites/{site}")).status_code == 200
    assert (await client.get(f"/drives/{drive}/root/children")).status_code == 200
    assert code(await client.get(f"/sites/{world.root.id}")) == (403, "accessDenied")
    assert code(await client.get("/sites?search=*")) == (403, "accessDenied")
    assert code(await client.get("/sites/getAllSites")) == (403, "accessDenied")
    assert code(await client.post("/search/query", json=query)) == (403, "accessDenied")
    assert code(await client.get(f"/drives/{world.minutes.drive_id}/root")) == (403, "accessDenied")
    assert code(await client.get("/me/drive")) == (400, "BadRequest")


async def test_granted_role_decides_about_writing(client_with, world):
    client = client_with("Sites.Selected", account="app", app_only=True)
    place = f"/drives/{world.documents.drive_id}/root/children"
    body = {"name": "n", "folder": {}}
    refused = await client.post(place, json=body)
    world.store.put(r.SiteGrant(site_id=world.yard.id, application="app", role="write"))
    made = await client.post(place, json=body)

    assert code(refused) == (403, "accessDenied")
    assert made.status_code == 201
    assert "application" in made.json()["createdBy"]


async def test_administrator_grants_and_revokes_a_site(client_with, world):
    admin = client_with("Sites.FullControl.All", account="admin", app_only=True)
    application = client_with("Sites.Selected", account="fresh", app_only=True)
    place = f"/sites/{world.yard.id}"
    body = {"roles": ["read"], "grantedToIdentities": [{"application": {"id": "fresh"}}]}
    before = (await application.get(place)).status_code
    granted = await admin.post(f"{place}/permissions", json=body)
    after = (await application.get(place)).status_code
    await admin.delete(f"{place}/permissions/{granted.json()['id']}")
    finally_ = (await application.get(place)).status_code

    assert (before, granted.status_code, after, finally_) == (403, 201, 200, 403)


async def test_unknown_token_is_refused_with_the_code_of_upstream(world):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app)) as client:
        response = await client.get(
            "http://sandbox.test/collab/v1.0/sites", headers={"authorization": "Bearer nobody"}
        )

    assert code(response) == (401, "InvalidAuthenticationToken")


# -- throttling, batches, odd calls


async def test_resource_unit_budget_is_reported_and_enforced(client, world):
    world.store.settings.units = 10
    place = f"/drives/{world.documents.drive_id}/items/{world.text.id}"
    answers = [await client.get(f"{place}/permissions")]
    answers += [await client.get(place) for _ in range(6)]
    world.now += 61
    after = await client.get(place)

    assert [answer.headers.get("ratelimit-remaining") for answer in answers] == [
        None, None, None, None, "1", "0", "0",
    ]  # fmt: skip
    assert code(answers[-1]) == (429, "activityLimitReached")
    assert answers[-1].headers["retry-after"] == "60"
    assert answers[-1].json()["error"]["innerError"]["innerError"] == {"code": "quota"}
    assert after.status_code == 200


async def test_batch_accepts_relative_and_absolute_urls(client, world):
    drive = world.documents.drive_id
    body = {
        "requests": [
            {"id": "1", "method": "GET", "url": f"/drives/{drive}/items/{world.text.id}"},
            {"id": "2", "method": "GET", "url": f"http://sandbox.test/collab/v1.0/drives/{drive}"},
            {"id": "3", "method": "GET", "url": "/drives/none"},
            {"id": "4", "method": "POST", "url": f"/drives/{drive}/items/{world.plan.id}/"
             "extractSensitivityLabels"},
            {"id": "5", "method": "PUT", "url": f"/drives/{drive}/root:/b.txt:/content",
             "body": "aGVsbG8=", "headers": {"Content-Type": "text/plain"}},
        ]
    }  # fmt: skip
    response = await client.post("/$batch", json=body)
    parts = {part["id"]: part for part in response.json()["responses"]}

    assert {name: part["status"] for name, part in parts.items()} == {
        "1": 200, "2": 200, "3": 400, "4": 200, "5": 201,
    }  # fmt: skip
    assert parts["1"]["body"]["name"] == "notes.txt"
    assert parts["1"]["body"]["@microsoft.graph.downloadUrl"].startswith("http://content.test/")
    assert parts["5"]["body"]["size"] == 5


async def test_batch_of_more_than_twenty_calls_is_refused(client):
    calls = [{"id": str(n), "method": "GET", "url": "/sites/root"} for n in range(21)]

    assert (await client.post("/$batch", json={"requests": calls})).status_code == 400


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "403"}, (403, "accessDenied")),
        ({"kind": "423"}, (423, "resourceLocked")),
        ({"kind": "429", "retryAfter": 7}, (429, "activityLimitReached")),
        ({"kind": "507"}, (507, "quotaLimitReached")),
    ],
)
async def test_injected_faults_use_the_codes_of_the_files_api(client, world, fault, expected):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app)) as control:
        await control.put("http://sandbox.test/faults/collab", json=fault)
    response = await client.get("/sites/root")

    assert code(response) == expected
    assert response.headers.get("retry-after") == ("7" if "retryAfter" in fault else None)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("PUT", "/sites/root", 405), ("GET", "/nothing", 400), ("POST", "/search/query", 400),
     ("GET", "/sites", 200), ("GET", "/drives/b!x/items/../root", 400)],
)  # fmt: skip
async def test_unknown_path_or_method_is_refused(client, method, path, status):
    assert (await client.request(method, path)).status_code == status


async def test_client_request_id_is_echoed(client):
    response = await client.get("/sites/root", headers={"client-request-id": "mine"})

    assert response.headers["client-request-id"] == "mine"
