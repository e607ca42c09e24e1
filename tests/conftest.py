"""Fixtures and settings of the whole suite: the world, the caller, the client."""

import asyncio
import gc
import importlib.util
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import gateway  # noqa: F401 - replaces sqlite3 by the packaged driver before a test imports it

# The helpers assert too: their failures show values as those of tests do.
pytest.register_assert_rewrite(
    *(path.stem for path in (Path(__file__).parent / "helpers").glob("*.py"))
)

# The suite runs on small shared machines: slowness is not a failure, and no test asserts on time.
# EXAMPLES=1000 ./run test looks longer for a counterexample.
settings.register_profile(
    "gateway",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    max_examples=int(os.environ.get("EXAMPLES", "40")),
)
settings.load_profile("gateway")

# httpx's ASGI transport asks for it at every request: a search of the whole path when it is absent.
if importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None


# Collecting the tests makes a million objects that stay, and a test some 10,000 that go by
# themselves: at its own thresholds the collector takes a tenth of the time, and finds little.
gc.set_threshold(50_000, 20, 50)

# Nobody balances load to the servers of most tests: they stop without the pause for it.
os.environ.setdefault("AGW_DRAIN_SECONDS", "0")


def pytest_collection_finish():
    """Let the garbage collector pass over what stays to the end: modules, items, marks."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _no_waiting():
    """Neither durability nor the patience of retries is what the tests are about."""
    from gateway.store import database
    from providers.http import call
    from providers.oauth import credentials

    with pytest.MonkeyPatch.context() as patch:
        writer = ("synchronous=OFF", "foreign_keys=ON")
        patch.setattr(database, "_WRITER_PRAGMAS", writer)
        patch.setattr(call, "MAX_RETRY_DELAY_SECONDS", 0.01)
        patch.setattr(credentials, "_OTHER_PROCESS_DELAYS", (0.0, 0.01, 0.05))
        yield


@pytest.fixture(scope="session")
def elsewhere():
    """Run a coroutine to its end, away from the event loops of the tests."""

    def run(work):
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work).result()

    return run


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(_no_waiting, tmp_path_factory, elsewhere):
    """Compile a statement once for all the stores of the session, not once for each of them."""
    from gateway.store import database

    make, path = database._sqlite, tmp_path_factory.mktemp("first") / "gateway.db"
    first = make(f"sqlite+aiosqlite:///{path}", writer=True)

    async def connect():  # it is then that a dialect learns what it speaks to
        async with first.connect():
            pass
        await first.dispose()

    def sharing(url, *, writer):
        engine = make(url, writer=writer)
        engine.sync_engine.dialect = first.sync_engine.dialect
        engine.sync_engine._compiled_cache = first.sync_engine._compiled_cache
        return engine

    elsewhere(connect())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_sqlite", sharing)
        yield


@pytest.fixture(scope="session")
def _canaries():
    import canaries  # late, so that tests without a gateway start fast

    watched = canaries.Canaries()
    canaries.watch(watched)
    return watched


@pytest.fixture(autouse=True)
def _nothing_is_quoted(_canaries):
    """Fail a test whose texts stand in logs, spans, figures or the decision log."""
    yield
    quoted = _canaries.quoted()
    _canaries.forget()
    assert not quoted


@pytest.fixture(scope="session")
def world_template(tmp_path_factory, elsewhere):
    """Make the world once; each test opens a copy."""
    import world as worlds  # late, so that tests without a world start fast

    folder = tmp_path_factory.mktemp("world")
    return folder, elsewhere(worlds.build(folder))


@pytest.fixture
async def world(world_template, tmp_path: Path):
    """A running gateway over two mailboxes of its own; its call logs are empty."""
    import world as worlds

    template, known = world_template
    async with worlds.opened(template, known, tmp_path / "world") as world:
        world.forget_calls()
        yield world


@pytest.fixture
async def token(request, world):
    """The caller's access token: ``@pytest.mark.caller(allowedEmailOperations=["send_email"])``.

    The marker's keywords are token settings over those that open all of email; `resources` and
    `expiresAt` are the token's own.
    """
    marker = request.node.get_closest_marker("caller")
    settings = dict(marker.kwargs) if marker else {}
    own = {name: settings.pop(name) for name in ("resources", "expiresAt") if name in settings}
    return await world.token(settings, **own)


@pytest.fixture
async def client(world, token):
    """A client of the caller's."""
    async with world.client(token) as client:
        yield client


@pytest.fixture
async def agendas(world):
    """The world with two calendar accounts, their calendars empty."""
    import calendar_world

    return await calendar_world.opened(world)
