"""The provider that a call goes to, and the responses to its failures."""

import pytest
import task_world
from failed_results import failed_result
from sqlmodel import col, select

from gateway.connections import rows as connection_rows
from gateway.store.tables import AccessToken

BASE = "/api/access/tasks"
BOARDS = f"{BASE}/boards"
ITEMS = f"{BASE}/items"
ALL = {"allowedTaskOperations": ["all"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.caller(allowedTaskOperations=[], resources="both")
async def test_providers_are_listed_without_any_operation(tasks, client):
    response = await client.get(f"{BASE}/providers")

    assert response.status_code == 200
    body = response.json()
    assert body == [
        {
            "providerCode": "BOARDS",
            "providerDisplayName": "Task boards",
            "connectionId": body[0]["connectionId"],
            "status": "active",
        },
        {
            "providerCode": "PROJECTS",
            "providerDisplayName": "Task projects",
            "connectionId": body[1]["connectionId"],
            "status": "active",
        },
    ]
    assert body[0]["connectionId"] < body[1]["connectionId"]


@pytest.mark.caller(**ALL, resources="both")
async def test_auto_is_ambiguous_with_two_providers(tasks, client):
    reads = [await client.get(BOARDS), await client.get(f"{BOARDS}?provider=Auto")]
    written = await client.delete(f"{ITEMS}/1")

    message = "Several task providers are connected: provider must name one."
    for response in (*reads, written):
        body = response.json()
        assert response.status_code == 400
        assert body == {
            "error": "PROVIDER_REQUIRED",
            "message": message,
            "requestId": response.headers["x-request-id"],
            "connectedProviders": ["BOARDS", "PROJECTS"],
            **(failed_result("TaskOperationResult", message, None) if response is written else {}),
        }
    assert tasks.documents() == tasks.calls() == []


@pytest.mark.caller(**ALL, resources="both")
@pytest.mark.parametrize(
    ("spelling", "provider", "name"),
    [("BOARDS", "BOARDS", "Kitchen"), ("projects", "PROJECTS", "Pavilion")],
)
async def test_only_the_named_provider_is_called(tasks, client, spelling, provider, name):
    body = (await client.get(f"{BOARDS}?provider={spelling}")).json()

    assert body["provider"] == provider
    assert name in [board["name"] for board in body["boards"]]
    assert bool(tasks.documents()) == (provider == "BOARDS")
    assert bool(tasks.calls()) == (provider == "PROJECTS")


@pytest.mark.caller(**ALL, defaultTaskProvider="projects", resources="both")
async def test_the_tokens_default_decides_for_auto(tasks, client):
    assert (await client.get(BOARDS)).json()["provider"] == "PROJECTS"
    assert (await client.get(f"{BOARDS}?provider=boards")).json()["provider"] == "BOARDS"


async def test_an_unknown_stored_default_is_no_provider(tasks, client, world):
    token = await world.token({**ALL, "defaultTaskProvider": "BOARDS"})
    async with world.gateway.services.database.writing() as session:
        rows = await session.exec(select(AccessToken).order_by(col(AccessToken.id).desc()))
        row = rows.first()
        row.settings = {**row.settings, "defaultTaskProvider": "ELSEWHERE"}
        row.policy_rev += 1
    async with world.client(token) as caller:
        auto = await caller.get(BOARDS)
        named = await caller.get(f"{BOARDS}?provider=boards&limit=1")

    assert (auto.status_code, auto.json()["error"]) == (400, "INVALID_PROVIDER")
    assert named.status_code == 200
    assert len(tasks.documents()) == 1  # of the named one


@pytest.mark.caller(**ALL)
async def test_an_unknown_provider_code_is_invalid(tasks, client):
    response = await client.get(f"{BOARDS}?provider=elsewhere")

    assert response.status_code == 400
    assert response.json() == {
        "error": "INVALID_PROVIDER",
        "message": "provider must be auto or one of BOARDS, PROJECTS.",
        "requestId": response.headers["x-request-id"],
    }


@pytest.mark.caller(**ALL)
async def test_a_provider_that_is_not_connected_is_none(tasks, client):
    response = await client.get(f"{BOARDS}?provider=PROJECTS")

    assert (response.status_code, response.json()["error"]) == (422, "NO_TASK_PROVIDER")


async def test_an_excluded_or_inactive_connection_cannot_be_used(tasks, client, world):
    excluded = await world.token({**ALL, "allowedConnectionIds": [1]})
    async with world.client(excluded) as narrow:
        auto = await narrow.get(BOARDS)
        named = await narrow.get(f"{BOARDS}?provider=BOARDS")
        assert (await narrow.get(f"{BASE}/providers")).json() == []

    assert (auto.status_code, auto.json()["error"]) == (403, "NO_PROVIDER")
    assert (named.status_code, named.json()["error"]) == (403, "NO_PROVIDER")
    assert tasks.documents() == []


async def test_parameters_come_before_connections(tasks, client, world):
    token = await world.token({**ALL, "allowedConnectionIds": [1]})
    async with world.client(token) as narrow:
        bad = await narrow.get(f"{BOARDS}?limit=0")
        fine = await narrow.get(BOARDS)

    assert (bad.status_code, bad.json()["error"]) == (400, "INVALID_PARAMETER")
    assert (fine.status_code, fine.json()["error"]) == (403, "NO_PROVIDER")


async def test_a_connection_with_read_scopes_does_not_write(fresh, client, world):
    import task_world

    resource = await task_world.resource(world, "reading")
    await task_world.connect(
        world, fresh, "BOARDS", resource=resource, grantedScopes=["boards:read"]
    )
    token = await world.token(ALL, resources=(resource,))
    async with world.client(token) as reader:
        read = await reader.get(f"{ITEMS}/{fresh['door']}")
        fresh.forget()
        written = await reader.delete(f"{ITEMS}/{fresh['door']}")

    assert read.status_code == 200
    assert (written.status_code, written.json()["errorCode"]) == (403, "ACCESS_DENIED")
    assert written.json()["message"] == "The connection has read scopes only."
    assert fresh.documents() == []


async def test_a_change_without_the_rights_at_the_provider_is_its_refusal(fresh, client, world):
    import task_world

    resource = await task_world.resource(world, "barred")
    await task_world.connect(
        world, fresh, "BOARDS", resource=resource, tokenScopes=["boards:read", "updates:read"]
    )
    token = await world.token(ALL, resources=(resource,))
    async with world.client(token) as barred:
        response = await barred.delete(f"{ITEMS}/{fresh['door']}")

    assert (response.status_code, response.json()["error"]) == (502, "PROVIDER_ERROR")
    assert response.json()["errorCode"] is None
    assert fresh.boards.items.find(fresh["door"]).state == "active"


# -- failures ------------------------------------------------------------------------------------

SENTENCES = {
    "reconnect": (
        "The connection needs to be reconnected: its token is wrong, expired or revoked "
        "(TOKEN_REFUSED)."
    ),
    "refused": "The provider refused the request.",
    "broken": "The provider's response is not valid.",
    "denied": "The provider does not let the account do this.",
}
BROKEN = (502, "PROVIDER_ERROR", None)
BARRED = (403, "ACCESS_DENIED", "ACCESS_DENIED")
DEEP = {"kind": "internal", "reason": "maxDepthExceeded"}
FAULTS = [
    pytest.param({"kind": "403"}, BARRED, "denied", id="403"),
    pytest.param({"kind": "400"}, BROKEN, "refused", id="400"),
    pytest.param({"kind": "500"}, BROKEN, "broken", id="500"),
    pytest.param({"kind": "unauthorized"}, BARRED, "denied", id="no right"),
    pytest.param({"kind": "internal"}, BROKEN, "broken", id="internal"),
    pytest.param(DEEP, BROKEN, "broken", id="a code that nobody maps, with its status"),
]


async def _own(world, tasks):
    """Open a client on a connection that no other test sees fail."""
    import task_world

    resource = await task_world.resource(world, "own")
    await task_world.connect(world, tasks, "BOARDS", resource=resource)
    return world.client(await world.token(ALL, resources=(resource,)))


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "expected", "sentence"), FAULTS)
async def test_failures_of_the_provider(fresh, world, fault, expected, sentence):
    await world.fail("tasks", **fault)
    async with await _own(world, fresh) as client:
        read = await client.get(f"{ITEMS}/{fresh['door']}")
        written = await client.delete(f"{ITEMS}/{fresh['door']}")

    status, error, _ = expected
    assert (read.status_code, read.json()["error"]) == (status, error)
    assert read.json()["message"] == SENTENCES[sentence]
    assert "errorCode" not in read.json()
    refusal = "refused" if sentence == "denied" else sentence  # a forbidden change: the contract
    assert (written.status_code, written.json()["error"]) == (502, "PROVIDER_ERROR")
    assert written.json()["message"] == SENTENCES[refusal]
    assert (written.json()["success"], written.json()["errorCode"]) == (False, None)


async def test_an_outage_with_a_time_is_no_throttle(fresh, world):
    await world.fail("tasks", kind="503", retryAfter=7)
    async with await _own(world, fresh) as client:
        read = await client.get(f"{ITEMS}/{fresh['door']}")
        written = await client.delete(f"{ITEMS}/{fresh['door']}")
    await world.admin.delete("/sandbox/faults/tasks")

    for response in (read, written):
        assert (response.status_code, response.json()["error"]) == (502, "PROVIDER_ERROR")
        assert "retry-after" not in response.headers


@pytest.mark.parametrize("kind", ["malformed", "html"])
async def test_an_unreadable_response_is_a_provider_error(fresh, world, kind):
    await world.fail("tasks", kind=kind)
    async with await _own(world, fresh) as client:
        read = await client.get(f"{ITEMS}/{fresh['door']}")
        created = await client.post(f"{BOARDS}/{fresh['kitchen']}/items", json={"name": "x"})

    for response in (read, created):
        assert (response.status_code, response.json()["error"]) == (502, "PROVIDER_ERROR")


async def test_a_refused_token_needs_a_person(fresh, world):
    await world.fail("tasks", kind="401")
    async with await _own(world, fresh) as client:
        read = await client.get(f"{ITEMS}/{fresh['door']}")

    assert (read.status_code, read.json()["error"]) == (502, "PROVIDER_ERROR")
    assert read.json()["message"] == SENTENCES["reconnect"]


THROTTLES = [
    pytest.param({"kind": "complexity"}, 12, id="complexity"),
    pytest.param({"kind": "complexity", "reason": "2024-10"}, 12, id="complexity, in the text"),
    pytest.param({"kind": "complexity", "reason": "2025-04"}, 12, id="complexity, since 2025"),
    pytest.param({"kind": "strings"}, 12, id="errors that are texts"),
    pytest.param({"kind": "rateLimit"}, 20, id="rate limit"),
    pytest.param({"kind": "tooManyRequests"}, 5, id="a throttle called a bad request"),
    pytest.param({"kind": "concurrency"}, 1, id="concurrency"),
    pytest.param({"kind": "429", "retryAfter": 7}, 7, id="429"),
    pytest.param({"kind": "429"}, 1, id="429 without a time"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "wait"), THROTTLES)
async def test_throttles_are_forwarded(fresh, world, fault, wait):
    await world.fail("tasks", **fault)
    async with await _own(world, fresh) as client:
        response = await client.delete(f"{ITEMS}/{fresh['door']}")

    message = f"The provider asks to wait {wait} {'second' if wait == 1 else 'seconds'}."
    assert response.status_code == 429
    assert response.headers["retry-after"] == str(wait)
    assert response.json() == {
        "error": None,
        "message": message,
        "requestId": response.headers["x-request-id"],
        **failed_result("TaskOperationResult", message, None),
    }


@pytest.mark.caller(**ALL)
async def test_a_connection_can_be_tested(tasks, client, world):
    for connection in tasks.connections.values():
        answer = await world.admin.post(f"/api/connections/{connection}/test")
        assert (answer.status_code, answer.json()["ok"]) == (200, True)


@pytest.mark.slow
async def test_unhealthy_accounts_are_reported(fresh, client, world):
    import task_world

    resource = await task_world.resource(world, "halved")
    await task_world.connect(world, fresh, "BOARDS", resource=resource)
    broken = await task_world.connect(world, fresh, "PROJECTS", resource=resource)
    await connection_rows.set_status(world.gateway.services.database, broken, "error", None)
    token = await world.token(ALL, resources=(resource,))
    async with world.client(token) as halved:
        listed = await halved.get(BOARDS)
        strictly = await halved.get(BOARDS, headers={"prefer": "partial=fail"})
        named = await halved.get(f"{BOARDS}?provider=PROJECTS")

    sentence = "Task projects (me@tasks.example): failed."
    assert listed.json()["authWarnings"] == [sentence]
    assert listed.json()["provider"] == "BOARDS"
    assert (strictly.status_code, strictly.json()["message"]) == (502, sentence)
    assert (named.status_code, named.json()["error"]) == (403, "NO_PROVIDER")


@pytest.mark.parametrize("call", ["create", "update", "comment", "delete"])
async def test_a_write_to_several_accounts_of_a_provider_is_ambiguous(world, tasks, call):
    resource = await task_world.resource(world, f"two accounts: {call}")
    for _ in range(2):
        await task_world.connect(world, tasks, "BOARDS", resource=resource)
    named = {"provider": "BOARDS"}
    token = await world.token({**ALL, "requireConnection": True}, resources=(resource,))
    tasks.forget()
    async with world.client(token) as client:
        response = await {
            "create": lambda: client.post(f"{BOARDS}/1/items", params=named, json={"name": "x"}),
            "update": lambda: client.patch(
                f"{ITEMS}/1", params=named, json={"fields": {"text": "x"}}
            ),
            "comment": lambda: client.post(f"{ITEMS}/1/comments", params=named, json={"body": "x"}),
            "delete": lambda: client.delete(f"{ITEMS}/1", params=named),
        }[call]()

        assert (response.status_code, response.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
        assert len(response.json()["accounts"]) == 2
        assert tasks.documents() == tasks.calls() == []
        read = await client.get(BOARDS, params=named)
    assert read.status_code == 200
