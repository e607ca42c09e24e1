"""Job 12: changes are those of the decision log, and are exported."""

import csv
import io
import re

import pytest
from console_rows import changes
from recorded_statements import recorded_selects

from gateway.operations.overviews import changes as overview

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
HOSTILE = '=HYPERLINK("x")<script>alert(1)</script>'


@pytest.fixture
def log(log):
    """The same, of changes that an administrator made."""
    changed = {"door": "admin", "operation": "changeToken", "actor": "ana"}

    async def store(*rows):
        await log(*({**changed, **members} for members in rows))

    return store


async def test_changes_are_the_rows_of_the_management_api(browser, admin, token):
    await admin.patch(f"/api/access-tokens/{token['id']}", json={"name": "other"})
    page = await browser.open("/console/changes")
    exported = (await browser.client.get("/console/changes/export?format=json")).json()
    listed = (await admin.get("/api/decisions", params={"limit": 200})).json()["decisions"]

    of_api = [row for row in listed if row["actor"]]
    assert exported == {"decisions": of_api}
    assert len(of_api) >= 4
    actions = re.findall(r"</td><td>(\w+)</td><td>(?:<a|<code|</td>)", page.text)
    assert actions == [row["operation"] for row in of_api]
    assert len(await changes(admin)) == 2


FILTERS = [
    ({"actor": "ana"}, [4, 1, 0]),
    ({"actor": "bo"}, [2]),
    ({"action": "removeRule"}, [4]),
    ({"token": "7"}, [2]),
    ({"actor": "ana", "token": "7"}, []),
    ({"actor": "unknown"}, []),
]


@pytest.mark.parametrize(("query", "expected"), FILTERS)
async def test_each_filter_finds_its_changes(browser, log, query, expected):
    await log(
        {},
        {},
        {"actor": "bo", "token_id": 7},
        {"actor": None, "operation": "emails", "door": "rest"},
        {"operation": "removeRule"},
        {"actor": "token 3", "operation": "createToken"},
    )
    exported = await browser.client.get(
        "/console/changes/export", params={"format": "json", **query}
    )

    rows = exported.json()["decisions"]
    assert [row["requestId"] for row in rows if row["operation"] != "signInConsole"] == [
        f"r{number}" for number in expected
    ]


async def test_actors_are_named_without_tokens(gateway, log):
    await log(*({"actor": name} for name in ("zoe", "token 1", "token 22", "tokenizer", "ana")))

    assert await overview.actors(gateway.services.database) == ["ana", "tokenizer", "zoe"]


async def test_actors_are_found_by_steps_of_their_index(gateway, log):
    """No page reads the calls between two changes; docs/spec/console.md#who-changed-what."""
    await log(*({"actor": name} for name in ("ana", "bo", "token 1")))
    database = gateway.services.database
    statements = await recorded_selects(database, overview.actors(database))
    assert len(statements) == 4
    async with database.reader.connect() as connection:
        for statement, parameters in statements:
            explain = f"EXPLAIN QUERY PLAN {statement}"
            (plan,) = (await connection.exec_driver_sql(explain, parameters)).all()
            assert "SEARCH decisions USING COVERING INDEX ix_decisions_actor_at_id (" in plan[-1]


async def test_every_change_is_on_one_page_in_order(browser, log):
    await log(*({"actor": "ana" if n % 3 else "bo"} for n in range(120)))
    path, seen = "?action=changeToken", []
    while path:
        page = await browser.open(f"/console/changes{path}")
        seen.append(re.findall(r"<tr><td>(\d[^<]*)</td><td><bdi>(\w+)</bdi>", page.text))
        older = re.search(r'<a href="(\?[^"]*)">Older changes', page.text)
        path = older and older[1].replace("&amp;", "&")

    assert [len(each) for each in seen] == [50, 50, 20]
    rows = [row for page in seen for row in page]
    assert rows == sorted(rows, key=lambda row: row[0], reverse=True)
    assert [name for _, name in rows] == ["ana" if n % 3 else "bo" for n in reversed(range(120))]


async def test_an_export_has_every_row_and_no_formula(browser, log, monkeypatch):
    monkeypatch.setattr(overview, "_PAGE", 10)
    texts = [HOSTILE, "+1", "-1", "@x", "a,b\n"]
    await log(*({"resource_id": texts[n % 5]} for n in range(25)))
    sent = await browser.client.get("/console/changes/export?action=changeToken")
    rows = list(csv.DictReader(io.StringIO(sent.text, newline="")))

    assert sent.headers["content-type"] == "text/csv; charset=utf-8"
    assert sent.headers["content-disposition"] == 'attachment; filename="changes.csv"'
    assert [row["requestId"] for row in rows] == [f"r{n}" for n in reversed(range(25))]
    assert [row["resourceId"] for row in rows[:5]] == [
        "a,b\n",
        *(f"'{text}" for text in texts[3::-1]),
    ]
    page = await browser.open("/console/changes")
    assert "<script" not in page.text


async def test_an_export_is_bounded(browser, log, monkeypatch):
    monkeypatch.setattr(overview, "_PAGE", 10)
    monkeypatch.setattr(overview, "MOST_EXPORTED", 20)
    await log(*({} for _ in range(25)))
    sent = await browser.client.get("/console/changes/export?format=json")

    assert len(sent.json()["decisions"]) == 20


@pytest.mark.parametrize("query", ["token=x", "pageToken=1"])
async def test_an_unknown_filter_is_refused(browser, query):
    assert (await browser.open(f"/console/changes?{query}")).status_code == 400


async def test_an_unknown_format_is_refused(browser):
    assert (await browser.open("/console/changes/export?format=xml")).status_code == 400


async def test_an_export_needs_a_session(stranger):
    answer = await stranger.open("/console/changes/export")

    assert answer.status_code == 303
    assert answer.text == ""
