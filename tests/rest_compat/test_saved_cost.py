"""Saved documents: the limits and the cost of their calls."""

import asyncio
import hashlib
from dataclasses import dataclass

import httpx
import pytest
from paths import REPOSITORY
from python_calls import PythonCalls
from sqlalchemy import insert, update
from world import ORIGIN

from gateway.auth.token_lookup import SqliteRowReader
from gateway.store.further_tables import SavedDocumentRow
from gateway.store.tables import DeploymentRow
from graph.documents import cost_limits
from rest_compat.saved.document import SavedDocument
from rest_compat.saved.routes import Routes

LIST = "query Inbox($limit: Int = 5) { emails(limit: $limit) { emails { id } } }"
INBOX = {"document": LIST, "method": "GET", "path": "/api/saved/inbox"}


async def save(world, name, body):
    response = await world.admin.put(f"/api/documents/{name}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.slow
async def test_variables_that_exceed_a_limit_are_refused_before_anything_runs(world, monkeypatch):
    monkeypatch.setattr(cost_limits, "MAX_OBJECTS", 40)
    await save(world, "inbox", INBOX)
    async with world.client(await world.token({})) as client:
        world.forget_calls()

        refused = await client.get("/api/saved/inbox?limit=45")
        assert (refused.status_code, refused.json()["error"]) == (400, "QUERY_TOO_COSTLY")
        assert world.calls() == []
        assert (await client.get("/api/saved/inbox?limit=2")).status_code == 200


PATHS = ["/api/saved/mail/{id}", "/api/saved/mail/{id}/parts", "/api/saved/{kind}/latest",
         "/api/saved/mail/latest"]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "matched"),
    [
        ("mail/latest", PATHS[3]),
        ("mail/1", PATHS[0]),
        ("mail/latest/parts", PATHS[1]),
        ("task/latest", PATHS[2]),
        ("mail/", PATHS[0]),
        ("/latest", PATHS[2]),
        ("task/1", None),
        ("mail", None),
        ("mail/latest/parts/1", None),
    ],
)
def test_a_path_is_searched_in_every_branch_that_fits(path, matched):
    routes = Routes(
        SavedDocument(id=at, name=f"d{at}", method="GET", path=each, status=200, digest="")
        for at, each in enumerate(PATHS)
    )

    documents = routes.match(("api", "saved", *path.split("/")))

    assert [document.path for document in documents.values()] == ([matched] if matched else [])


# -- a thousand documents

MANY = 1_000
WARM_UP = 2  # requests: the first one's time of use is a commit, after which rows are read again
TIMES = 4  # requests that are counted; no pause is in the least of them
SOURCE, UPSTREAMS = f"{REPOSITORY}/src/", f"{REPOSITORY}/src/sandbox/"
READ = "query Read($emailId: String!) { email(emailId: $emailId) { id subject } }"
MAIL = {"document": READ, "method": "GET", "path": "/api/saved/mail/{emailId}"}


class OurCalls(PythonCalls):
    """
    Counts the functions of the gateway, without the upstreams' and the event loop's.

    What ran before the block, such as the writer of the decision log, may go on in it uncounted.
    """

    def __enter__(self):
        self._others = asyncio.all_tasks() - {asyncio.current_task()}
        return super().__enter__()

    def _add(self, frame, event, _argument):
        file = frame.f_code.co_filename
        is_ours = file == "<string>" or (file.startswith(SOURCE) and not file.startswith(UPSTREAMS))
        if event == "call" and is_ours and asyncio.current_task() not in self._others:
            self.count += 1


@dataclass(frozen=True)
class Cost:
    """The functions that a request calls, its queries with their rows, and its answer."""

    functions: int
    queries: list[tuple[str, int]]
    body: bytes


@pytest.fixture
def queries(monkeypatch):
    """The queries that requests read, with the number of their rows."""
    read, recorded = SqliteRowReader.rows, []

    async def rows(self, query, values):
        result = await read(self, query, values)
        recorded.append((query, len(result)))
        return result

    monkeypatch.setattr(SqliteRowReader, "rows", rows)
    return recorded


async def fill(world, numbers):
    """Store a further document per number, and count one change."""
    texts = {at: f"query D{at} {{ accessToken {{ id }} }}" for at in numbers}
    documents = [
        {
            "name": f"d{at}",
            "method": "GET",
            "path": f"/api/saved/mail/{{name}}/d{at}",
            "route": f"/api/saved/mail/{{}}/d{at}",
            "status": 200,
            "text": text,
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "created_at": 0,
            "updated_at": 0,
        }
        for at, text in texts.items()
    ]
    async with world.gateway.services.database.writing() as session:
        connection = await session.connection()
        await connection.execute(insert(SavedDocumentRow), documents)
        await connection.execute(
            update(DeploymentRow).values(documents_rev=DeploymentRow.documents_rev + 1)
        )


async def measured(world, token, queries, cases):
    """Return the cost of every case after its first requests."""
    transport = httpx.ASGITransport(world.gateway.middleware, client=("127.0.0.1", 50000))
    headers = {"authorization": f"Bearer {token}", "x-request-id": "same"}
    costs = {}
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers) as client:
        for name, (method, path, body) in cases.items():
            repeated = []
            for _ in range(WARM_UP + TIMES):
                queries.clear()
                with OurCalls() as calls:
                    response = await client.request(method, path, json=body)
                assert response.status_code == 200, response.text
                repeated.append(Cost(calls.count, list(queries), response.content))
                await world.gateway.services.last_uses.write()
            costs[name] = min(repeated[WARM_UP:], key=lambda cost: cost.functions)
    return costs


@pytest.mark.slow
async def test_a_thousand_documents_cost_other_calls_nothing(world, queries):
    email, token = world.id("lease"), await world.token({})
    cases = {
        "token": ("GET", "/api/access/token", None),
        "documented": ("GET", f"/api/access/email/messages/{email}", None),
        "graphql": ("POST", "/graphql", {"query": READ, "variables": {"emailId": email}}),
    }
    before = await measured(world, token, queries, cases)

    await fill(world, range(MANY))

    assert await measured(world, token, queries, cases) == before
    read = [query for cost in before.values() for query, _ in cost.queries]
    assert read
    assert not [query for query in read if "documents" in query]


@pytest.mark.slow
@pytest.mark.parametrize(
    "documents", [pytest.param("any", id="any"), pytest.param(["mail"], id="limited")]
)
async def test_a_thousand_documents_cost_a_saved_call_nothing(world, queries, documents):
    saved = await save(world, "mail", MAIL)
    email, token = world.id("lease"), await world.token({"documents": documents})
    variables = {"emailId": email}
    cases = {
        "path": ("GET", f"/api/saved/mail/{email}", None),
        "id": ("POST", "/graphql", {"documentId": saved["documentId"], "variables": variables}),
        "text": ("POST", "/graphql", {"query": READ, "variables": variables}),
    }
    await measured(world, token, queries, cases)
    await fill(world, range(1))  # the list is read again, and the prepared document stays
    before = await measured(world, token, queries, cases)

    await fill(world, range(1, MANY - 1))

    assert await measured(world, token, queries, cases) == before
    assert ("SELECT documents_rev FROM deployment", 1) in before["path"].queries
