"""Health checks and metrics; metrics name no person, token or content."""

import re

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import text

from gateway.app import assemble
from gateway.http import health
from gateway.store import timestamps
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ConnectionRow

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
CANARY = "canary-4e1b"
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}


@pytest.fixture(autouse=True)
def no_failed_tasks(monkeypatch):
    """Forget the periodic tasks of other tests in this process."""
    monkeypatch.setattr(health, "last_runs", {})


async def test_ready_when_the_database_answers(client):
    response = await client.get("/readyz")

    assert (response.status_code, response.json()) == (
        200,
        readiness("ready", database="ok", writes="ok", shared_limits="off"),
    )


async def test_not_ready_when_the_database_does_not_answer(client, gateway, monkeypatch):
    def lost():
        raise StorageUnavailable

    monkeypatch.setattr(gateway.services.database, "reading", lost)
    response = await client.get("/readyz")

    assert (response.status_code, response.json()) == (
        503,
        readiness("unready", database="lost", writes="lost", shared_limits="off"),
    )
    assert (await client.get("/healthz")).status_code == 200


async def test_a_draining_process_is_unready_and_answers_once_per_connection(client, gateway):
    gateway.begin_drain()
    try:
        response, alive = await client.get("/readyz"), await client.get("/healthz")
    finally:
        gateway.lifecycle.draining = False

    assert (response.status_code, response.json()) == (503, readiness("draining"))
    assert (alive.status_code, alive.headers["connection"]) == (200, "close")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer something-else"}])
async def test_metrics_need_a_credential(client, headers):
    response = await client.get("/metrics", headers=headers)

    assert response.status_code == 401
    assert "agw_" not in response.text


async def test_an_access_token_cannot_read_metrics(client, token):
    mine = {"Authorization": f"Bearer {token['token']}"}

    assert (await client.get("/metrics", headers=mine)).status_code == 401


async def test_requests_are_counted_by_route_alone(client, token):
    mine = {"Authorization": f"Bearer {token['token']}", "X-Request-Id": "asked-1"}
    before = await figures(client)
    await client.get(f"/api/access/email/messages/providerA:{CANARY}?q={CANARY}", headers=mine)
    await client.request("BREW", f"/{CANARY}", headers=mine)
    query = f'{{ emails(q: "{CANARY}") {{ totalCount }} }}'
    await client.post("/graphql", json={"query": query}, headers=mine)
    after = await figures(client)

    grown = {name: value - before.get(name, 0.0) for name, value in after.items()}
    counted = {
        name for name, more in grown.items() if name.startswith("agw_requests_total") and more
    }
    assert counted == {
        'agw_requests_total{method="GET",route="/metrics",status="200"}',
        'agw_requests_total{method="GET",route="/api/access/email/messages/{emailId}",status="422"}',
        'agw_requests_total{method="other",route="other",status="404"}',
        'agw_requests_total{method="POST",route="/graphql",status="200"}',
    }
    assert after["agw_requests_active"] == 1.0
    refused = 'agw_decisions_total{code="EMAIL_NOT_ENABLED",outcome="refused",surface="email"}'
    decided = {
        series: more for series, more in grown.items() if "_decisions_total" in series and more
    }
    assert decided == {refused: 2.0}
    assert CANARY not in str(after)
    assert "asked-1" not in str(after)


async def test_a_lost_shared_count_is_reported_and_still_ready(settings):
    alone = settings.model_copy(
        update={"redis_url": SecretStr("redis://127.0.0.1:1"), "rate_limits": "on"}
    )
    async with assemble(alone).running() as gateway, over(gateway) as client:
        await client.get("/api/access/token")
        response = await client.get("/readyz")
        lost = (await figures(client))["agw_shared_limits_lost"]

    assert (response.status_code, response.json()) == (
        200,
        readiness("ready", database="ok", writes="ok", shared_limits="lost"),
    )
    assert lost == 1.0


async def test_requests_beyond_a_limit_are_counted_by_bucket(settings):
    limited = settings.model_copy(update={"rate_limits": "on"})
    async with assemble(limited).running() as gateway, over(gateway) as client:
        statuses = [(await client.get("/api/operators")).status_code for _ in range(62)]
        counted = (await figures(client))['agw_rate_limited_total{bucket="management"}']

    assert statuses.count(429) == counted == 2


async def test_the_longest_silence_of_active_accounts_is_shown(gateway, client, admin, resource):
    (owner,) = (await admin.get(f"/api/resources/{resource}")).json()["operatorIds"]
    now = timestamps.now_ms()
    accounts = (
        ("PROVIDER_A", "active", now - 1_000_000),
        ("PROVIDER_A", "active", now),
        ("PROVIDER_B", "active", None),
        ("BOARDS", "disabled", 0),
    )
    async with gateway.services.database.writing() as session:
        for provider, status, last_ok_at in accounts:
            session.add(
                ConnectionRow(
                    resource_id=resource,
                    operator_id=owner,
                    kind="email",
                    provider=provider,
                    account_email="a@example.org",
                    granted_scopes=[],
                    can_write=False,
                    status=status,
                    selected_site_ids=[],
                    last_ok_at=last_ok_at,
                    created_at=now - 2_000_000,
                    updated_at=now,
                )
            )
    shown = {
        name: seconds
        for name, seconds in (await figures(client)).items()
        if name.startswith("agw_connection_last_ok_seconds")
    }

    name = 'agw_connection_last_ok_seconds{{provider="{}"}}'
    assert shown.keys() == {name.format("PROVIDER_A"), name.format("PROVIDER_B")}
    assert 1000 <= shown[name.format("PROVIDER_A")] < 2000 <= shown[name.format("PROVIDER_B")]


async def test_the_pool_of_the_database_is_shown(gateway, client):
    async with gateway.services.database.reading() as session:
        await session.exec(text("SELECT 1"))
        shown = await figures(client)

    assert shown['agw_database_connections{state="used"}'] == 1.0
    assert shown['agw_database_connections{state="idle"}'] >= 1.0


async def test_metrics_accept_the_metrics_token(settings):
    scraped = settings.model_copy(update={"metrics_token": SecretStr("a-token-of-the-scraper")})
    async with assemble(scraped).running() as gateway, over(gateway) as client:
        theirs = {"Authorization": "Bearer a-token-of-the-scraper"}
        metrics = await client.get("/metrics", headers=theirs)
        managing = await client.get("/api/operators", headers=theirs)

    assert (metrics.status_code, managing.status_code) == (200, 401)


def over(gateway):
    """A client without any credential."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(gateway), base_url="http://gateway")


async def figures(client):
    """Return every sample by its name and labels."""
    response = await client.get("/metrics", headers=ADMIN)
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    lines = re.findall(r"^(agw_[^ ]+) (\S+)$", response.text, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def readiness(
    status, *, database="ok", writes="ok", clock="ok", background="ok", shared_limits="off"
):
    checks = {
        "database": database,
        "writes": writes,
        "clock": clock,
        "background": background,
        "sharedLimits": shared_limits,
    }
    return {"status": status, "checks": checks}


async def test_not_ready_while_the_clock_differs_from_the_databases(client, gateway, monkeypatch):
    monkeypatch.setattr(gateway.services.database.clock, "agrees", False)
    response = await client.get("/readyz")

    assert (response.status_code, response.json()) == (503, readiness("unready", clock="off"))


async def test_failed_writes_are_shown_until_a_write_succeeds(client, gateway):
    database = gateway.services.database
    await limit_pages(database, 1)  # as many as there are: a full disk
    for _ in range(10):  # a background task may write successfully in between
        database.writes_fail = True
        answer = (await client.get("/readyz")).json()
        if answer["checks"]["writes"] == "lost":
            break
    assert answer == readiness("ready", writes="lost")

    await limit_pages(database, 100_000)
    database.writes_fail = True
    assert (await client.get("/readyz")).json() == readiness("ready")


async def limit_pages(database, count):
    async with database.writing() as session:
        await (await session.connection()).execute(text(f"PRAGMA max_page_count = {count}"))


async def test_a_failing_background_task_is_shown(client, monkeypatch):
    monkeypatch.setitem(health.last_runs, "cleanup", False)

    assert (await client.get("/readyz")).json() == readiness("ready", background="failing")
