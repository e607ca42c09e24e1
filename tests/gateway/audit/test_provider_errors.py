"""`GET /api/provider-errors/{requestId}`: what providers answered behind failed requests."""

from uuid import uuid4

import pytest
import pytest_asyncio
import world as worlds
from sqlmodel import select

from gateway.audit import provider_errors
from gateway.audit.chain import DAY_MS
from gateway.audit.provider_errors import ProviderErrorLog
from gateway.secrets.keyring import Keyring
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ProviderErrorRow
from providers.http.failed_responses import FailedResponse

MESSAGES = "/api/access/email/messages"
CANARY = "canaryOfTheProvider7f3a"
DOCUMENT = "query($id: String!) { email(emailId: $id) { subject } }"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("provider_errors")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(world_template, folder):
    """The world, opened once for this module."""
    template, known = world_template
    async with worlds.opened(template, known, folder) as world:
        yield world


@pytest.fixture(autouse=True)
def _never_quoted(_canaries):
    """Have `_nothing_is_quoted` look for the text in logs, spans, figures and the decision log."""
    _canaries.remember(CANARY)


async def fail(world, request_id, *, door="rest", **fault):
    """Have a provider refuse to read a message; return what the caller is told."""
    fault = {"kind": "403", "reason": CANARY, **fault}
    await world.fail("provider-a", **fault)
    headers = {"X-Request-Id": request_id}
    async with world.client(await world.token({})) as client:
        if door == "rest":
            answer = await client.get(f"{MESSAGES}/{world.id('lease')}", headers=headers)
        else:
            body = {"query": DOCUMENT, "variables": {"id": world.id("lease")}}
            answer = await client.post("/graphql", json=body, headers=headers)
    await world.admin.delete("/sandbox/faults/provider-a")
    return answer


async def reasons(world, request_id):
    return await world.admin.get(f"/api/provider-errors/{request_id}")


@pytest.mark.parametrize(
    ("door", "kind", "code"),
    [
        pytest.param("rest", "403", "PROVIDER_ERROR", id="refused over REST"),
        pytest.param("graphql", "403", "PROVIDER_ERROR", id="refused over GraphQL"),
        pytest.param("rest", "500", "PROVIDER_ERROR", id="failed over REST"),
        pytest.param("graphql", "429", "RATE_LIMITED", id="throttled over GraphQL"),
    ],
)
async def test_only_the_administrator_sees_the_text(world, door, kind, code):
    request_id = str(uuid4())

    answer = await fail(world, request_id, door=door, kind=kind)
    seen = (await reasons(world, request_id)).json()

    assert code in answer.text
    assert CANARY not in answer.text + str(answer.headers)
    assert seen["requestId"] == request_id
    (error,) = seen["errors"]
    assert CANARY in error.pop("text")
    assert error.pop("at").endswith("Z")
    assert error == {
        "connectionId": world.connections["PROVIDER_A"],
        "provider": "PROVIDER_A",
        "status": int(kind),
        "code": code,
    }


@pytest.mark.parametrize(
    ("credential", "status"),
    [("Bearer not-the-admin-token", 401), (None, 401)],
    ids=["wrong", "none"],
)
async def test_others_read_nothing(world, credential, status):
    request_id = str(uuid4())
    await fail(world, request_id)
    headers = {"authorization": credential} if credential else {}

    async with world.client() as other:
        answer = await other.get(f"/api/provider-errors/{request_id}", headers=headers)

    assert answer.status_code == status
    assert CANARY not in answer.text


async def test_an_unknown_request_is_named(world):
    answer = await reasons(world, "nobody-asked")

    assert answer.status_code == 404
    assert answer.json()["message"] == "No provider error is stored for request nobody-asked."
    assert (await reasons(world, "%00")).status_code == 404


async def test_what_succeeds_or_is_missing_leaves_nothing(world):
    request_ids = [str(uuid4()) for _ in range(2)]
    missing = await fail(world, request_ids[0], kind="404")
    assert missing.status_code == 404
    async with world.client(await world.token({})) as client:
        fine = await client.get(
            f"{MESSAGES}/{world.id('lease')}", headers={"X-Request-Id": request_ids[1]}
        )
    assert fine.status_code == 200

    for request_id in request_ids:
        assert (await reasons(world, request_id)).status_code == 404


async def test_each_account_of_a_search_is_named(world):
    request_id = str(uuid4())
    for upstream in ("provider-a", "provider-b"):
        await world.fail(upstream, kind="403", reason=CANARY)
    async with world.client(await world.token({})) as client:
        answer = await client.get(MESSAGES, headers={"X-Request-Id": request_id})
    for upstream in ("provider-a", "provider-b"):
        await world.admin.delete(f"/sandbox/faults/{upstream}")

    errors = (await reasons(world, request_id)).json()["errors"]

    assert answer.status_code == 502
    assert CANARY not in answer.text
    assert {error["connectionId"] for error in errors} == set(world.connections.values())
    assert all(CANARY in error["text"] for error in errors)


async def test_a_connection_without_an_answer_is_named(world):
    request_id = str(uuid4())

    answer = await fail(world, request_id, kind="reset")
    errors = (await reasons(world, request_id)).json()["errors"]

    assert answer.status_code == 502
    assert {(error["provider"], error["status"], error["text"]) for error in errors} == {
        ("PROVIDER_A", None, "")
    }


async def test_the_text_is_sealed_in_the_database(world, folder):
    await fail(world, request_id := str(uuid4()))
    assert (await reasons(world, request_id)).status_code == 200

    files = list(folder.glob("gateway.db*"))
    stored = b"".join(file.read_bytes() for file in files)
    assert b"provider_errors" in stored
    assert CANARY.encode() not in stored


async def test_nothing_is_kept_when_it_is_off(world_template, tmp_path):
    template, known = world_template
    async with worlds.opened(template, known, tmp_path, provider_error_days=0) as world:
        request_id = str(uuid4())
        answer = await fail(world, request_id)

        assert answer.status_code == 502
        assert (await reasons(world, request_id)).status_code == 404
        assert await rows(world.gateway.services.database) == []


async def rows(database):
    async with database.reading() as session:
        return list((await session.exec(select(ProviderErrorRow.request_id))).all())


def failed_answer(text="no"):
    return FailedResponse(upstream="tokens", connection="token:7", status=400, text=text)


@pytest.fixture
def keyring():
    return Keyring.read("a secret key of the tests")


@pytest.mark.asyncio
async def test_expired_rows_are_swept(database, time, keyring):
    async def until(days):
        log = ProviderErrorLog(
            database, keyring, days=days, clock=time, sweep_clock=lambda: time.now
        )
        return await log.sweep()

    log = ProviderErrorLog(database, keyring, days=30, clock=time)
    log.write("old", "PROVIDER_ERROR", [failed_answer()])
    time.wait(30 * DAY_MS / 1000 - 1)
    log.write("young", "PROVIDER_ERROR", [failed_answer()])
    await log.flush()

    assert await until(30) == 0
    time.wait(1)
    assert await until(30) == 1
    assert await rows(database) == ["young"]
    assert await until(0) == 1  # it was turned off


@pytest.mark.asyncio
async def test_rows_wait_for_the_database_and_the_oldest_are_dropped(
    database, keyring, monkeypatch
):
    monkeypatch.setattr(provider_errors, "CAPACITY", 2)
    log, store = ProviderErrorLog(database, keyring, days=30), ProviderErrorLog._store

    async def unavailable(self, batch):
        raise StorageUnavailable

    monkeypatch.setattr(ProviderErrorLog, "_store", unavailable)
    for request_id in ("a", "b", "c"):
        log.write(request_id, "PROVIDER_ERROR", [failed_answer()])
    with pytest.raises(StorageUnavailable):
        await log.flush()
    monkeypatch.setattr(ProviderErrorLog, "_store", store)
    await log.flush()

    assert await rows(database) == ["b", "c"]
    (error,) = await provider_errors.of_request(database, keyring, "b")
    assert (error.connection_id, error.provider, error.text) == (7, "tokens", "no")
    (lost,) = await provider_errors.of_request(database, Keyring(["another key " * 2]), "b")
    assert lost.text is None


@pytest.mark.asyncio
async def test_a_row_that_can_never_be_stored_takes_no_other_along(database, keyring, caplog):
    log = ProviderErrorLog(database, keyring, days=30)
    for request_id, status in (("a", 403), ("b", 2**70), ("c", 403)):
        answer = FailedResponse(upstream="tokens", connection=7, status=status, text="no")
        log.write(request_id, "PROVIDER_ERROR", [answer])
    await log.flush()

    assert await rows(database) == ["a", "c"]
    assert caplog.messages == ["responses of providers cannot be stored"]
