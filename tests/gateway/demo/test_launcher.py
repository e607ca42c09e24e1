"""The demo makes its world once, prints the same tokens again, and its tokens do what they say."""

import json
import stat

import pytest
import pytest_asyncio

from gateway.cli.commands.demo import _open
from gateway.demo import manifest

pytestmark = pytest.mark.asyncio(loop_scope="module")

BASE = "http://127.0.0.1:8000"
ACCESS = "/api/access"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def first(data):
    return await _open(data, BASE, reset=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(first):
    async with first[0].running() as running:
        yield running


@pytest.fixture(scope="module")
def described(first):
    return first[1]


@pytest.fixture
def profile(described):
    return lambda name: {"Authorization": f"Bearer {described['tokens'][name]}"}


async def test_the_manifest_is_complete(described):
    assert described["baseUrl"] == BASE
    assert described["internalBaseUrl"] == f"{BASE}/internal"
    assert described["graphqlUrl"] == f"{BASE}/graphql"
    assert described["resourceIds"] == [1]
    assert described["resources"] == {
        "main": 1,
        "readOnly": 2,
        "selectedSites": 3,
        "empty": 4,
        "secondTasks": 5,
        "sharedMailbox": 6,
    }
    profiles = ["full", "reader", "masked", "selected", "partner", "team", "supervised"]
    assert list(described["tokens"]) == profiles
    assert {name: upstream["url"] for name, upstream in described["upstreams"].items()} == {
        "providerA": f"{BASE}/sandbox/provider-a",
        "providerB": f"{BASE}/sandbox/provider-b",
        "collab": f"{BASE}/sandbox/collab",
        "tasks": f"{BASE}/sandbox/tasks",
        "projects": f"{BASE}/sandbox/projects",
    }


async def test_a_second_start_prints_the_same_manifest(data, described):
    _, again = await _open(data, "http://127.0.0.1:9999", reset=False)

    for member in ("tokens", "adminToken", "operatorId"):
        assert again[member] == described[member]
    assert again["baseUrl"] == "http://127.0.0.1:9999"


async def test_only_the_owner_may_read_the_secrets(data, described, tmp_path):
    manifest.write(tmp_path / "manifest.json", described)

    for path in (data / manifest.STATE, data / "gateway.db", tmp_path / "manifest.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert json.loads((tmp_path / "manifest.json").read_text()) == described


async def test_the_full_token_reads_both_mailboxes(client, profile):
    response = await client.get(f"{ACCESS}/email/messages?limit=50", headers=profile("full"))

    assert response.status_code == 200
    emails = response.json()["emails"]
    assert len(emails) == 50
    assert {email["provider"] for email in emails} == {"PROVIDER_A", "PROVIDER_B"}
    assert "authWarnings" not in response.json()
    assert "accessInfo" not in response.json()


async def test_the_masked_token_sees_null(client, profile):
    response = await client.get(
        f"{ACCESS}/email/messages?limit=5&includeBody=true", headers=profile("masked")
    )

    assert response.status_code == 200
    for email in response.json()["emails"]:
        assert (email["body"], email["attachments"], email["to"]) == (None, None, None)
        assert email["subject"] is not None


async def test_the_reader_may_not_delete(client, profile):
    response = await client.delete(
        f"{ACCESS}/email/messages/providerA:x", headers=profile("reader")
    )

    assert (response.status_code, response.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")


async def test_a_write_of_the_supervised_token_waits_for_a_person(client, profile):
    own = (await client.get(f"{ACCESS}/token", headers=profile("supervised"))).json()
    emails = f"{ACCESS}/email/messages?limit=1"
    (email,) = (await client.get(emails, headers=profile("supervised"))).json()["emails"]
    held = await client.patch(
        f"{ACCESS}/email/messages/{email['id']}",
        json={"markAsRead": not email["isRead"]},
        headers=profile("supervised"),
    )
    (after,) = (await client.get(emails, headers=profile("supervised"))).json()["emails"]

    assert (own["settings"]["writes"], own["settings"]["requireConnection"]) == ("approve", True)
    assert (held.status_code, held.json()["state"]) == (202, "held")
    assert after == email


async def test_each_profile_grants_what_its_name_says(client, profile):
    own = {
        name: (await client.get(f"{ACCESS}/token", headers=profile(name))).json()
        for name in ("full", "reader", "masked", "selected")
    }

    full, reader = own["full"], own["reader"]
    assert len(full["effectiveEmailOperations"]) == 13
    assert len(reader["effectiveEmailOperations"]) == 3
    assert len(reader["effectiveTaskOperations"]) == 3
    assert "upload_file" not in reader["effectiveCollabOperations"]
    assert own["selected"]["settings"]["collabAllowAllDefault"] is False
    assert "attendees" not in own["masked"]["settings"]["visibleCalendarFields"]
    assert [(connection["kind"], connection["provider"]) for connection in full["connections"]] == [
        ("email", "PROVIDER_A"),
        ("email", "PROVIDER_B"),
        ("calendar", "PROVIDER_A"),
        ("calendar", "PROVIDER_B"),
        ("tasks", full["connections"][4]["provider"]),
        ("collab", "COLLAB"),
    ]


@pytest.mark.slow
async def test_the_tokens_read_tasks_as_they_may(client, profile):
    seen = {}
    for name in ("full", "masked"):
        boards = await client.get(f"{ACCESS}/tasks/boards", headers=profile(name))
        assert boards.status_code == 200, boards.text
        largest = 0
        for board in boards.json()["boards"]:
            path = f"{ACCESS}/tasks/boards/{board['id']}/items?limit=200"
            items = (await client.get(path, headers=profile(name))).json()
            largest = max(largest, items["totalCount"])
            seen.setdefault(name, []).extend(items["items"])
        assert (boards.json()["provider"], largest >= 60) == ("BOARDS", True)

    assert [item["id"] for item in seen["masked"]] == [item["id"] for item in seen["full"]]
    assert any(item["assignees"] for item in seen["full"])
    assert all(item["assignees"] is None for item in seen["masked"])
    names = {name for item in seen["full"] for name in item["assignees"]}
    texts = {
        value["text"]
        for item in seen["masked"]
        for value in item["columnValues"]
        if value["type"] == "people"
    }
    assert (texts, bool(names)) == ({None}, True)


async def test_the_second_task_provider_is_on_a_resource_of_its_own(client, described):
    admin = {"Authorization": f"Bearer {described['adminToken']}"}
    made = await client.post(
        "/api/access-tokens",
        json={
            "name": "projects",
            "operatorId": described["operatorId"],
            "resourceIds": [described["resources"]["secondTasks"]],
            "settings": {"allowedTaskOperations": ["read_only"]},
        },
        headers=admin,
    )
    own = {"Authorization": f"Bearer {made.json()['token']}"}
    boards = (await client.get(f"{ACCESS}/tasks/boards", headers=own)).json()
    path = f"{ACCESS}/tasks/boards/{boards['boards'][0]['id']}/items"

    assert boards["provider"] == "PROJECTS"
    assert len((await client.get(path, headers=own)).json()["items"]) == 50


@pytest.mark.slow
async def test_the_partner_uses_accounts_of_his_own_alone(client, described, profile):
    admin = {"Authorization": f"Bearer {described['adminToken']}"}
    own = (await client.get(f"{ACCESS}/token", headers=profile("partner"))).json()["connections"]
    others = (await client.get(f"{ACCESS}/token", headers=profile("full"))).json()["connections"]

    henrik = "henrik@harbourlight-studio.example"
    assert [(row["kind"], row["accountEmail"]) for row in own] == [
        ("tasks", henrik),
        ("collab", henrik),
    ]
    assert [row["id"] for row in others] == [1, 2, 3, 4, 5, 6]
    [main] = [
        row
        for row in (await client.get("/api/resources", headers=admin)).json()["resources"]
        if row["name"] == "main"
    ]
    assert len(main["operatorIds"]) == 2
    for path, error in (
        ("email/messages", "NO_EMAIL_PROVIDER"),
        ("calendar/events", "NO_CALENDAR_PROVIDER"),
    ):
        refused = await client.get(f"{ACCESS}/{path}", headers=profile("partner"))
        assert (refused.status_code, refused.json()["error"]) == (422, error)
    for path in ("tasks/boards", "collab/sites"):
        listed = await client.get(f"{ACCESS}/{path}", headers=profile("partner"))
        assert listed.status_code == 200
        assert any(listed.json().values())


async def test_the_admin_sees_the_five_resources(client, described):
    admin = {"Authorization": f"Bearer {described['adminToken']}"}
    resources = (await client.get("/api/resources", headers=admin)).json()["resources"]
    listed = (await client.get("/api/connections", headers=admin)).json()["connections"]

    assert {row["name"]: row["id"] for row in resources} == described["resources"]
    by_resource = {row["id"]: [] for row in resources}
    for row in listed:
        by_resource[row["resourceId"]].append((row["kind"], row["mode"], row["canWrite"]))
    assert len(by_resource[1]) == 8
    assert by_resource[2] == [("email", None, False), ("collab", "delegated", False)]
    assert by_resource[3] == [("collab", "selected_sites", True)]
    assert by_resource[4] == []


async def test_a_connection_is_tested_by_one_harmless_read(client, described):
    admin = {"Authorization": f"Bearer {described['adminToken']}"}
    response = await client.post("/api/connections/1/test", headers=admin)

    assert response.status_code == 200
    result = response.json()
    assert result == {
        "ok": True,
        "status": "active",
        "detail": "The account answers.",
        "latencyMs": result["latencyMs"],
    }
    shown = (await client.get("/api/connections/1", headers=admin)).json()
    assert shown["lastOkAt"] is not None


async def test_a_withdrawn_consent_needs_a_person(client, described, gateway):
    admin = {"Authorization": f"Bearer {described['adminToken']}"}
    wrong = {"credentials": {"accessToken": "withdrawn"}}
    changed = await client.post(
        "/api/connections",
        json={
            "resourceId": 4,
            "operatorId": described["operatorId"],
            "kind": "email",
            "provider": "PROVIDER_B",
            "accountEmail": "x@example.org",
            "grantedScopes": [],
            **wrong,
        },
        headers=admin,
    )
    url = f"/api/connections/{changed.json()['id']}"
    result = (await client.post(f"{url}/test", headers=admin)).json()

    assert (result["ok"], result["status"]) == (False, "needs_reauth")
    assert (await client.get(url, headers=admin)).json()["status"] == "needs_reauth"
    await client.delete(url, headers=admin)


async def test_a_mailbox_recovers_when_its_401s_end(client, profile):
    messages = f"{ACCESS}/email/messages?limit=5"
    await client.put("/sandbox/faults/providerA", json={"kind": "401", "count": 99})
    without = await client.get(messages, headers=profile("full"))
    await client.delete("/sandbox/faults/providerA")
    again = await client.get(messages, headers=profile("full"))

    (warning,) = without.json()["authWarnings"]
    assert ": needs to be reconnected. Reconnect: http://" in warning
    assert (again.status_code, again.json().get("authWarnings")) == (200, None)


@pytest.mark.slow
async def test_a_search_finds_words_by_their_beginning(client, profile):
    async def search_titles(query):
        response = await client.get(f"{ACCESS}/email/messages?{query}", headers=profile("full"))
        return {email["id"] for email in response.json()["emails"]}

    titled = await search_titles("subject=thwarts")
    assert titled
    assert titled <= await search_titles("q=thwar")


async def test_a_throttle_ends_with_the_fault_that_made_it(client, profile):
    messages = f"{ACCESS}/email/messages?limit=5"
    throttled = {"kind": "429", "count": 99, "retryAfter": 3600}
    for upstream in ("providerA", "providerB"):
        await client.put(f"/sandbox/faults/{upstream}", json=throttled)
    during = await client.get(messages, headers=profile("full"))
    for upstream in ("providerA", "providerB"):
        await client.delete(f"/sandbox/faults/{upstream}")
    after = await client.get(messages, headers=profile("full"))

    assert (during.status_code, during.headers["retry-after"]) == (429, "3600")
    assert (after.status_code, after.json().get("authWarnings")) == (200, None)


async def test_the_sandbox_answers_under_its_path(client, described):
    upstream = described["upstreams"]["providerA"]
    response = await client.get(
        upstream["url"].removeprefix(BASE) + "/gmail/v1/users/me/profile",
        headers={"Authorization": f"Bearer {upstream['accessToken']}"},
    )

    assert response.status_code == 200
    assert response.json()["emailAddress"].endswith(".example")
    calls = (await client.get("/sandbox/calls/provider-a")).json()["calls"]
    assert calls[-1]["path"] == "/gmail/v1/users/me/profile"


async def test_an_event_created_upstream_is_returned_by_the_gateway(client, described, profile):
    times = {edge: f"2027-03-01T{hour}:00:00" for edge, hour in (("start", 10), ("end", 11))}
    bodies = {
        "providerA": (
            "/calendar/v3/calendars/primary/events",
            {"summary": "Planted"}
            | {edge: {"dateTime": f"{time}Z"} for edge, time in times.items()},
        ),
        "providerB": (
            "/v1.0/me/events",
            {"subject": "Planted"}
            | {edge: {"dateTime": time, "timeZone": "UTC"} for edge, time in times.items()},
        ),
    }
    for upstream, (path, body) in bodies.items():
        made = described["upstreams"][upstream]
        response = await client.post(
            made["url"].removeprefix(BASE) + path,
            headers={"Authorization": f"Bearer {made['accessToken']}"},
            json=body,
        )
        assert response.status_code in {200, 201}
    events = await client.get(
        f"{ACCESS}/calendar/events?q=planted&from=2027-03-01&to=2027-03-02", headers=profile("full")
    )

    assert [
        (event["title"], event["startUtc"], event["endUtc"]) for event in events.json()["events"]
    ] == [("Planted", "2027-03-01T10:00:00Z", "2027-03-01T11:00:00Z")] * 2


async def test_incomplete_state_counts_as_none(tmp_path):
    assert manifest.read_state(tmp_path) is None
    (tmp_path / manifest.STATE).write_text("{}")
    assert manifest.read_state(tmp_path) is None
    (tmp_path / manifest.STATE).write_text("not json")
    assert manifest.read_state(tmp_path) is None


async def test_a_reset_removes_the_demos_files_and_nothing_else(tmp_path):
    for name in ("gateway.db", "gateway.db-wal", "sandbox.db", manifest.STATE, "notes.txt"):
        (tmp_path / name).write_text("x")
    manifest.remove_stores(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


async def test_the_team_opens_a_shared_mailbox_and_not_its_owners(client, profile):
    own = (await client.get(f"{ACCESS}/token", headers=profile("team"))).json()["connections"]
    mails = (await client.get(f"{ACCESS}/email/messages", headers=profile("team"))).json()
    events = (await client.get(f"{ACCESS}/calendar/events", headers=profile("team"))).json()
    draft = {"to": [{"email": "ann@north.example"}], "subject": "Hello", "body": "Words."}
    sent = await client.post(f"{ACCESS}/email/messages/send", headers=profile("team"), json=draft)

    assert [(each["kind"], each["accountEmail"]) for each in own] == [
        ("email", "office@harbourlight-studio.example"),
        ("calendar", "office@harbourlight-studio.example"),
    ]
    assert (mails["totalCount"], "authWarnings" in mails) == (5, False)
    assert "Interview, office assistant" in {event["title"] for event in events["events"]}
    assert (sent.status_code, sent.json()["success"]) == (200, True)
