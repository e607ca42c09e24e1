"""Commands run in this process over a store of the test's own; PostgreSQL when slow."""

import asyncio
import json
import os

import machines_postgres
import pytest
import typer
from pydantic_settings.sources import EnvSettingsSource, PydanticBaseEnvSettingsSource
from typer import testing

from gateway.cli.main import app
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.tables import OperatorResource

KEY = "k" * 20


@pytest.fixture
def postgres():
    """The URL of an empty database, which goes away with the test."""
    url = asyncio.run(machines_postgres.create())
    yield url
    asyncio.run(machines_postgres.drop(url))


@pytest.fixture(scope="session")
def migrated_postgres():
    """Migrate once; every test has a copy."""

    async def migrated():
        url = await machines_postgres.create()
        database = Database.open(url)
        await database.migrate()
        await database.close()
        return url

    url = asyncio.run(migrated())
    yield url
    asyncio.run(machines_postgres.drop(url))


@pytest.fixture(scope="session", autouse=True)
def _variables_of_settings():
    """Find the variables of each setting, and how to read them, once: each command does it."""
    find, found = PydanticBaseEnvSettingsSource._extract_field_info, {}

    def remembered(source, field, name, model_config=None):
        if source.settings_cls is not Settings or model_config is not None:
            return find(source, field, name, model_config)
        key = (type(source), name)
        if key not in found:
            found[key] = find(source, field, name)
        return found[key]

    read, known = EnvSettingsSource._field_is_complex, {}

    def remembered_kind(source, field):
        if source.settings_cls is not Settings:
            return read(source, field)
        if id(field) not in known:
            known[id(field)] = field, read(source, field)
        return known[id(field)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PydanticBaseEnvSettingsSource, "_extract_field_info", remembered)
        patch.setattr(EnvSettingsSource, "_field_is_complex", remembered_kind)
        yield


@pytest.fixture
def kind():
    """The kind of database: SQLite, where a test is not `on_both`."""
    return "sqlite"


@pytest.fixture
def url(kind, request):
    """The URL of a migrated store."""
    if kind == "sqlite":
        yield request.getfixturevalue("store")
        return
    template = request.getfixturevalue("migrated_postgres")
    url = asyncio.run(machines_postgres.create(template))
    yield url
    asyncio.run(machines_postgres.drop(url))


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """The settings of a deployment, without its database."""
    monkeypatch.chdir(tmp_path)
    for name in [variable for variable in os.environ if variable.startswith("AGW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGW_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "a" * 20)
    monkeypatch.setenv("AGW_SECRET_KEYS", KEY)
    yield monkeypatch
    for name in [variable for variable in os.environ if variable.startswith("AGW_")]:
        del os.environ[name]  # `serve` sets some for its workers


@pytest.fixture
def deployed(environment, url):
    """A deployment over a migrated store; its URL."""
    environment.setenv("AGW_DATABASE_URL", url)
    return url


@pytest.fixture(scope="session")
def command():
    """The tree of commands, built once."""
    return typer.main.get_command(app)


@pytest.fixture
def run(command, monkeypatch):
    """Run a command in this process."""
    monkeypatch.setattr(testing, "_get_command", lambda _: command)

    def invoke(*words, **options):
        return testing.CliRunner().invoke(app, [*map(str, words)], **options)

    return invoke


@pytest.fixture
def rows(deployed):
    """Write rows into the deployment's store, and read them."""
    return Rows(deployed)


@pytest.fixture
def apply(run, deployed, tmp_path):
    """Apply a policy document; further words are options of the command."""

    def applying(wanted, *words, command="apply"):
        file = tmp_path / "policy.json"
        file.write_text(json.dumps(wanted))
        return run("policy", command, file, "--json", *words)

    return applying


class Rows:
    def __init__(self, url):
        self._url = url

    def add(self, *new):
        async def adding(session):
            for row in new:
                session.add(row)
                await session.flush()
            return [getattr(row, "id", None) for row in new]

        return self._do(adding)

    def link(self, *, operator, resource):
        async def linking(session):
            session.add(OperatorResource(operator_id=operator, resource_id=resource))

        self._do(linking)

    def all(self, query):
        async def reading(session):
            return list(await session.exec(query))

        return self._do(reading)

    def change(self, statement):
        async def changing(session):
            await session.exec(statement)

        self._do(changing)

    def _do(self, work):
        async def doing():
            database = Database.open(self._url)
            try:
                async with database.writing() as session:
                    return await work(session)
            finally:
                await database.close()

        return asyncio.run(doing())


@pytest.fixture
async def token(store_named, database):
    """A token with the id 1, which reaches a resource without accounts."""
    from gateway.auth import tokens
    from gateway.store.tables import Operator, Resource
    from policy import grants

    async with database.writing() as session:
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        session.add(Resource(name="r", created_at=0))
        await session.flush()
        await tokens.create(
            session,
            name="t",
            operator_id="o",
            resource_ids=[1],
            expires_at=None,
            settings=grants.DEFAULTS,
        )
