"""
The real application over ASGI.

Modules that talk to it share one process each, and its loop; its store is emptied after every
test. Modules that need another process override `gateway`, `client` and `admin`.
"""

import asyncio
import shutil

import httpx
import pytest
import pytest_asyncio

from gateway.app import assemble
from gateway.demo.world import register_client
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.tables import METADATA, ConnectionRow, Operator, OperatorResource, Resource
from sandbox.app import create

BASE = "http://gateway.test"
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}


class Clock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self):
        self.now = 1_795_000_000.0

    def __call__(self):
        return self.now


class Milliseconds:
    """The same in milliseconds."""

    def __init__(self):
        self.now = 1_795_000_000_000

    def __call__(self):
        return self.now

    def wait(self, seconds):
        """Let time pass."""
        self.now += round(seconds * 1000)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory):
    """Migrate once; every test copies the file."""
    path = tmp_path_factory.mktemp("store") / "gateway.db"

    async def migrate():
        database = Database.open(url(path))
        await database.migrate()
        await database.close()

    asyncio.run(migrate())
    return path


@pytest.fixture
def store(migrated_file, tmp_path):
    """Return the URL of a fresh, migrated database."""
    return url(shutil.copy(migrated_file, tmp_path / "gateway.db"))


@pytest.fixture
def store_named(store, tmp_path, monkeypatch):
    """Name the store in the environment, for commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGW_DATABASE_URL", store)
    monkeypatch.setenv("AGW_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "a" * 16)
    monkeypatch.setenv("AGW_SECRET_KEYS", "k" * 16)


@pytest_asyncio.fixture
async def database(store):
    database = Database.open(store)
    yield database
    await database.close()


@pytest.fixture
def connected(database):
    """A function that stores operator "o", linked to resource 1, and connection 1, active."""

    async def connect(*, provider="PROVIDER_A", **more):
        async with database.writing() as session:
            session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
            session.add(Resource(name="r", created_at=0))
            await session.flush()
            session.add(OperatorResource(operator_id="o", resource_id=1))
            made = ConnectionRow(
                resource_id=1,
                operator_id="o",
                kind="email",
                provider=provider,
                account_email="o@example.org",
                granted_scopes=[],
                status="active",
                selected_site_ids=[],
                created_at=0,
                updated_at=0,
                **{"can_write": False, **more},
            )
            session.add(made)
        return made

    return connect


@pytest.fixture(scope="module")
def settings(migrated_file, tmp_path_factory):
    """Settings of the module's process."""
    folder = tmp_path_factory.mktemp("process")
    shutil.copy(migrated_file, folder / "gateway.db")
    return Settings(
        _env_file=None,
        data_dir=folder,
        admin_token=ADMIN["Authorization"].removeprefix("Bearer "),
        secret_keys="a secret key of the tests",
        rate_limits="off",
        allowed_upstream_hosts=("upstream.example",),
    )


@pytest.fixture
def time():
    return Milliseconds()


@pytest.fixture
def clock():
    return Clock()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(settings):
    async with assemble(settings).running() as running:
        yield running


@pytest.fixture(scope="module")
def sandbox():
    """Sandbox upstreams that know the module's process as a client."""
    made = create(None, public_base=f"{BASE}/sandbox")
    register_client(made, BASE)
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandboxed(settings, sandbox):
    """The module's process with `sandbox` in it: what modules that need one call `gateway`."""
    mounted = settings.model_copy(update={"sandbox": True, "public_url": BASE})
    async with assemble(mounted, sandbox=sandbox).running() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(gateway):
    """A client without any credential."""
    async with over(gateway) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(gateway):
    """A client with the admin token."""
    async with over(gateway, headers=ADMIN) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="module")
async def emptied(gateway):
    """Leave the module's store empty behind a test."""
    yield
    await empty(gateway)


@pytest.fixture
def emptying():
    """A function that empties a process's store, for modules with processes of their own."""
    return empty


async def empty(gateway):
    """Forget every row, and what is compiled from them; the deployment keeps its id."""
    await gateway.services.last_uses.write()
    gateway.services.authenticator._policies.clear()
    names = [table.name for table in reversed(METADATA.sorted_tables)]
    deletions = [
        f"DELETE FROM {name}" for name in (*names, "sqlite_sequence") if name != "deployment"
    ]
    async with gateway.services.database.writing() as session:
        connection = await (await session.connection()).get_raw_connection()
        # In one call of the driver, which ends the transaction that it finds.
        await connection.driver_connection.executescript(";".join(["BEGIN IMMEDIATE", *deletions]))


@pytest_asyncio.fixture(loop_scope="module")
async def operator(admin):
    """An operator, made through the API; returns its id."""
    new = {"email": "ada@example.org", "displayName": "Ada"}
    return (await admin.post("/api/operators", json=new)).json()["id"]


@pytest_asyncio.fixture(loop_scope="module")
async def resource(admin, operator):
    """A resource of the operator; returns its id."""
    new = {"name": "main", "operatorIds": [operator]}
    return (await admin.post("/api/resources", json=new)).json()["id"]


@pytest.fixture
def new_token(operator, resource):
    """The body of a token that may be made."""
    return {"name": "reports", "operatorId": operator, "resourceIds": [resource]}


@pytest_asyncio.fixture(loop_scope="module")
async def token(admin, new_token):
    """A token as `POST /api/access-tokens` answered it, its text included."""
    return (await admin.post("/api/access-tokens", json=new_token)).json()


def over(gateway, **options):
    transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=BASE, **options)


def url(path):
    return f"sqlite+aiosqlite:///{path}"
