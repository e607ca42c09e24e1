"""Fixtures and settings of the whole suite: the world, the caller, the client."""

import asyncio
import gc
import importlib.util
import os
import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import httpx
import msgspec
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from msgspec.structs import replace

import gateway  # noqa: F401 - replaces sqlite3 by the packaged driver before a test imports it

# The helpers assert too: their failures show values as those of tests do.
pytest.register_assert_rewrite(
    *(path.stem for path in (Path(__file__).parent / "helpers").glob("*.py"))
)

FEW_EXAMPLES, EXAMPLES = 5, 60  # of each property, in the fast suite and in the slow one


def pytest_configure(config):
    """
    Set the examples of the Hypothesis properties, which both suites run, and hear Ctrl-C.

    The suites run on small shared machines: slowness is not a failure, and no test asserts on
    time. `EXAMPLES=1000 ./run slow` looks longer for a counterexample.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Shells start background jobs so; the processes that tests stop would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    few = "not slow" in config.option.markexpr
    settings.register_profile(
        "gateway",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
        max_examples=int(os.environ.get("EXAMPLES", FEW_EXAMPLES if few else EXAMPLES)),
    )
    settings.load_profile("gateway")


# httpx's ASGI transport asks for it at every request: a search of the whole path when it is absent.
if importlib.util.find_spec("sniffio") is None:
    sys.modules["sniffio"] = None


# A test makes some 10,000 objects that go by themselves: at its own thresholds the collector takes
# a tenth of the time, and finds little.
gc.set_threshold(50_000, 20, 50)

# Clients of the tests have the patience of a busy machine; the product's have limits of their own.
for step in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, step, 60.0)

# A client without a context of its own reads 150 certificates, in 20 ms: once is enough.
_ssl_context = httpx._transports.default.create_ssl_context
_ssl_contexts = {}


def _known_ssl_context(verify=True, cert=None, trust_env=True):
    if verify is not True or cert is not None:
        return _ssl_context(verify, cert, trust_env)
    key = trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if key not in _ssl_contexts:
        _ssl_contexts[key] = _ssl_context(verify, cert, trust_env)
    return _ssl_contexts[key]


httpx._transports.default.create_ssl_context = _known_ssl_context

# Nobody balances load to the servers of most tests: they stop without the pause for it.
os.environ.setdefault("AGW_DRAIN_SECONDS", "0")


EXCLUDED_MARKS = (
    "slow",
    "browser",
    "stall",
)  # those by which `./run test` leaves whole modules out


def pytest_ignore_collect(collection_path, config):
    """
    Do not import a module of which the run selects no test.

    `./run test` leaves out modules that are marked whole; suites such as "slow or hypothesis" leave
    out modules that name none of these words.
    """
    expression = config.option.markexpr
    modules = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    modules = [path for path in modules if path.match("test_*.py")]
    if excluded := [mark for mark in EXCLUDED_MARKS if f"not {mark}" in expression]:
        marks = "|".join(excluded)
        marked = re.compile(rf"^pytestmark = (\[\s*)?pytest\.mark\.({marks})\b", re.MULTILINE)
        is_left_out = all(marked.search(module.read_text()) for module in modules)
    elif re.fullmatch(r"\w+( or \w+)*", expression):
        named = re.compile(rf"\b({expression.replace(' or ', '|')})\b")
        fixtures = {module.with_name("conftest.py") for module in modules}  # they may have marks
        texts = [*modules, *filter(Path.is_file, fixtures)]
        is_left_out = not any(named.search(text.read_text()) for text in texts)
    else:
        return None
    return True if modules and is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """
    Collect without the garbage collector, which then passes over what stays to the end.

    Modules, items and marks are a million objects, and hardly any of them goes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionfinish():
    """
    Collect once what the last tests left, and let the collector pass over the rest.

    At its end pytest collects five times, to hear of exceptions in finalizers.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _one_day():
    """
    Let a run that goes on after midnight (UTC) end on the day on which it began.

    Default ranges of calendars begin today, and the tests' calendars are made relative to today.
    """
    import calendar_world

    from graph import context

    midnight = calendar_world.day(1)

    class SameDay(datetime):
        @classmethod
        def now(cls, tz=None):
            return min(datetime.now(tz), midnight - timedelta(seconds=1))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "datetime", SameDay)
        yield


@pytest.fixture(scope="session", autouse=True)
def _passed_records_are_exact():
    """Check the records that plans pass on unchecked, whatever connector or test made them."""
    from graph.execution.plan.shapes import RecordReader

    convert = RecordReader._convert

    def checked(self, value):
        shape = convert(self, value)
        if self.passing is not None:
            try:
                convert(replace(self, passing=None), value)
            except msgspec.ValidationError as problem:
                pytest.fail(f"a record has a value that is not of its declared type: {problem}")
        return shape

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecordReader, "_convert", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_waiting():
    """Neither durability nor the patience of retries is what the tests are about."""
    from gateway.store import database
    from providers.connectors.boards import graphql_client
    from providers.connectors.collab import batch
    from providers.connectors.collab.files import upload_sessions
    from providers.http import call
    from providers.oauth import credentials

    with pytest.MonkeyPatch.context() as patch:
        writer = ("synchronous=OFF", "foreign_keys=ON")
        patch.setattr(database, "_WRITER_PRAGMAS", writer)
        patch.setattr(call, "MAX_RETRY_DELAY_SECONDS", 0.01)
        patch.setattr(batch, "_RETRY_PAUSE_SECONDS", 0.01)
        patch.setattr(upload_sessions, "PAUSE_SECONDS", 0.0)
        patch.setattr(graphql_client, "_PAUSES", (0.01, 0.01))
        patch.setattr(credentials, "_OTHER_PROCESS_DELAYS", (0.0, 0.01, 0.05))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_threads_of_sqlite(request):
    """
    Run the statements of SQLite on the event loop, in the fast suite.

    The slow suite and single tests run them on the driver's threads, as the product does.
    """
    import sqlite_without_threads

    with pytest.MonkeyPatch.context() as patch:
        if "not slow" in request.config.option.markexpr:
            sqlite_without_threads.install(patch)
        yield


@pytest.fixture
def tries(request):
    """How often a test of random cases tries: the mark says it for each suite, `TIMES` for more."""
    import run_sizes

    few, many = request.node.get_closest_marker("tries").args
    if "not slow" in request.config.option.markexpr:
        return few
    return run_sizes.times(many)


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


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def module_world(world_template, tmp_path_factory):
    """A world for the tests of a module that change nothing."""
    import world as worlds

    async with worlds.opened(*world_template, tmp_path_factory.mktemp("shared")) as world:
        stored = world.stored_mails()
        yield world
        assert world.stored_mails() == stored


addresses = count(1)


def require_session_loop(request):
    loop = request.node.get_closest_marker("asyncio").kwargs.get("loop_scope")
    assert loop == "session", "what goes on in the background would outlive the test's loop"


@pytest.fixture
def shared_world(module_world, request):
    """The world of the module with empty call logs, for tests that run in its loop."""
    require_session_loop(request)
    module_world.forget_calls()
    number = next(addresses)
    return module_world.called_from(f"10.1.{number // 256}.{number % 256}")


@pytest.fixture
async def token(request, world):
    """The caller's access token."""
    from callers import token_of_caller

    return await token_of_caller(request, world)


@pytest.fixture
async def client(world, token):
    """A client of the caller's."""
    async with world.client(token) as client:
        yield client


@pytest.fixture(scope="module")
def _made_tokens():
    """The tokens of the module's callers; equal callers have one."""
    return {}


@pytest_asyncio.fixture(loop_scope="session")
async def shared_client(request, shared_world, _made_tokens):
    """A client of the caller's in the world of the module."""
    from callers import token_of_caller

    token = await token_of_caller(request, shared_world, _made_tokens)
    async with shared_world.client(token) as client:
        yield client


@pytest.fixture(scope="session")
def content_template(world_template, tmp_path_factory, elsewhere):
    """Fill the world with collaboration content once; each test opens a copy."""
    import content_world

    return elsewhere(content_world.build(world_template, tmp_path_factory.mktemp("filled")))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session_content(content_template, tmp_path_factory):
    """A world of collaboration content that no test changes, for the whole session."""
    import content_world

    folder = tmp_path_factory.mktemp("content")
    async with content_world.opened(content_template, folder) as world:
        yield world


@pytest.fixture
def readonly(session_content, request):
    """The shared read-only content with an empty call log, for tests that run in its loop."""
    require_session_loop(request)
    session_content.forget_calls()
    return session_content


@pytest.fixture
async def content(content_template, tmp_path):
    """A world of collaboration content for one test."""
    import content_world

    async with content_world.opened(content_template, tmp_path / "content") as world:
        yield world


@pytest.fixture
async def agendas(world):
    """The world with two calendar accounts, their calendars empty."""
    import calendar_world

    return await calendar_world.opened(world)
