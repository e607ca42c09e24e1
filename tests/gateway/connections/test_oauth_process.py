"""Connecting over sockets: a demo process, its consent page, and accounts that renew themselves."""

from urllib.parse import parse_qs, urlsplit

import demo_process
import httpx
import pytest

pytestmark = pytest.mark.slow  # a demo process


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_process.running(tmp_path_factory.mktemp("demo")) as manifest:
        yield manifest


@pytest.fixture
def client(demo):
    with httpx.Client(base_url=demo["baseUrl"], timeout=30) as made:
        yield made


@pytest.fixture
def admin(demo):
    return {"Authorization": f"Bearer {demo['adminToken']}"}


def test_the_accounts_renew_their_tokens(client, demo):
    holder = {"Authorization": f"Bearer {demo['tokens']['full']}"}
    read = client.get("/api/access/email/messages?limit=1", headers=holder)
    calls = client.get("/sandbox/calls/oauth").json()["calls"]

    assert (read.status_code, read.json().get("authWarnings")) == (200, None)
    renewed = {call["path"].split("/")[1] for call in calls if call["path"].endswith("/token")}
    assert renewed >= {"provider-a", "provider-b"}


def test_every_account_answers(client, admin):
    listed = client.get("/api/connections", headers=admin).json()["connections"]
    results = {
        connection["id"]: client.post(
            f"/api/connections/{connection['id']}/test", headers=admin
        ).json()
        for connection in listed
    }

    assert len(results) == 14  # twelve of the first operator, two of the second
    failed = {key: result["detail"] for key, result in results.items() if not result["ok"]}
    assert failed == {}


def test_every_account_is_reconnected_by_consent(client, admin):
    listed = client.get("/api/connections", headers=admin).json()["connections"]
    able = [
        each for each in listed if each["mode"] != "selected_sites" and each.get("sharedOn") is None
    ]
    for connection in able:
        path = f"/api/connections/{connection['id']}"
        began = client.post(f"{path}/reconnect", headers=admin).json()["authorizeUrl"]
        hint = {"auto_approve": "true", "login_hint": connection["accountEmail"]}
        consent_query = {
            name: values[0] for name, values in parse_qs(urlsplit(began).query).items()
        }
        agreed = client.get(began, params={**consent_query, **hint})
        page = client.get(agreed.headers["location"])

        assert page.status_code == 200, (connection["provider"], page.text)
        assert client.post(f"{path}/test", headers=admin).json()["ok"] is True
        now = client.get(path, headers=admin).json()
        assert (now["status"], now["canWrite"]) == (
            "active",
            now["kind"] != "calendar" and connection["canWrite"],
        )
