"""The page of store costs is what its script measures, on real servers, and keeps its bounds."""

import asyncio
import re

import pytest
import store_cost
from database_servers import postgres_server, redis_server
from paths import REPOSITORY

pytestmark = pytest.mark.slow

PAGE = REPOSITORY / "docs" / "reference" / "store-cost.md"
REDIS = re.compile(r"\| \d+ \| \d+ \|$", re.MULTILINE)  # the last two columns
# The most round trips to PostgreSQL of a warm call.
PROMISED = {
    "GET /token": 1,
    "GET /email/messages/{emailId}": 1,
    "GET /email/messages": 1,
    "GET /calendar/events": 1,
    "GET /collab/files": 2,
    "POST /email/messages/send (Idempotency-Key)": 4,  # 8 with its row of the decision log
}


@pytest.fixture
def measured(tmp_path):
    """Return the costs on SQLite, on PostgreSQL, and of a batch of the decision log there."""
    with postgres_server() as postgres, redis_server(tmp_path) as redis:
        (sqlite, _), (postgresql, batch) = [
            asyncio.run(store_cost.measure_store(store, postgres.url, redis.url))
            for store in store_cost.STORES
        ]
    return sqlite, postgresql, batch


def test_page_is_what_the_script_measures_and_keeps_its_promises(measured):
    """One test, since measuring takes a minute."""
    page = PAGE.read_text("utf-8")
    _, postgresql, batch = measured

    assert REDIS.sub("|", store_cost.page(*measured)) == REDIS.sub("|", page)
    for costs in measured[:2]:
        for title, cost in costs.items():
            assert cost.status in {200, 201, 204, 403}, title
    assert store_cost.violations(postgresql, batch) == []
    for title, most in PROMISED.items():
        assert postgresql[title].database.round_trips <= most, title
    for title, cost in postgresql.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{title}` |"))
        commands, round_trips = map(int, row.strip("| ").split(" | ")[-2:])
        assert cost.redis.statements <= commands, title
        assert cost.redis.round_trips <= round_trips, title
