"""The real application over ASGI, on a migrated store of its own."""

import shutil

import httpx
import pytest

from gateway import database as database_module
from gateway.app import assemble
from gateway.database import Database
from gateway.settings import Settings

ADMIN_TOKEN = "the admin token of the tests"
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN.replace(' ', '-')}"}


class Clock:
    """Seconds since the epoch, moved by hand."""

    def __init__(self):
        self.now = 1_795_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks():
    """Durability is not what these tests are about, and the machine's disk is slow."""
    writer = database_module._WRITER
    database_module._WRITER = ("journal_mode=WAL", "synchronous=OFF", "foreign_keys=ON")
    yield
    database_module._WRITER = writer


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory):
    """Migrate once; every test copies the file."""
    import asyncio

    path = tmp_path_factory.mktemp("store") / "gateway.db"

    async def migrate():
        database = Database.open(f"sqlite+aiosqlite:///{path}")
        await database.migrate()
        await database.close()

    asyncio.run(migrate())
    return path


@pytest.fixture
def store(migrated_file, tmp_path):
    """Return the URL of a fresh, migrated database."""
    shutil.copy(migrated_file, tmp_path / "gateway.db")
    return f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"


@pytest.fixture
async def database(store):
    database = Database.open(store)
    yield database
    await database.close()


@pytest.fixture
def settings(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Settings(
        data_dir=tmp_path,
        database_url=store,
        admin_token=ADMIN_TOKEN.replace(" ", "-"),
        secret_keys="a secret key of the tests",
        rate_limits="off",
        allowed_upstream_hosts=("upstream.example",),
    )


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def gateway(settings):
    async with assemble(settings).running() as running:
        yield running


@pytest.fixture
async def client(gateway):
    """A client without any credential."""
    async with over(gateway) as client:
        yield client


@pytest.fixture
async def admin(gateway):
    """A client with the admin token."""
    async with over(gateway, headers=ADMIN) as client:
        yield client


def over(gateway, **options):
    transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://gateway.test", **options)


@pytest.fixture
async def operator(admin):
    """An operator, made through the API; returns its id."""
    new = {"email": "ada@example.org", "displayName": "Ada"}
    return (await admin.post("/api/operators", json=new)).json()["id"]


@pytest.fixture
async def resource(admin, operator):
    """A resource of the operator; returns its id."""
    new = {"name": "main", "operatorIds": [operator]}
    return (await admin.post("/api/resources", json=new)).json()["id"]


@pytest.fixture
def new_token(operator, resource):
    """The body of a token that may be made."""
    return {"name": "reports", "operatorId": operator, "resourceIds": [resource]}


@pytest.fixture
async def token(admin, new_token):
    """A token as `POST /api/access-tokens` answered it, its text included."""
    return (await admin.post("/api/access-tokens", json=new_token)).json()


def bearer(text):
    return {"Authorization": f"Bearer {text}"}
