"""Stored credentials are opened when a call needs them, renewed once, and marked when they die."""

import asyncio

import pytest
from sqlmodel import select

from gateway.auth.token_lookup import open_row_reader
from gateway.connections import credentials
from gateway.connections import rows as connection_rows
from gateway.connections.credentials import CredentialRepository
from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store import sealed_columns
from gateway.store.database import StorageUnavailable
from gateway.store.tables import ConnectionRow
from gateway.telemetry.metrics import Metrics
from providers.failures import NeedsReauth
from providers.oauth.token_endpoint import Tokens


@pytest.fixture
def keyring():
    return Keyring(["the new key of the tests", "the old key of the tests"])


@pytest.fixture
async def row(connected):
    return await connected()


async def put(database, keyring, **credentials):
    async with database.writing() as session:
        row = await session.get(ConnectionRow, 1)
        connection_rows.replace(row, credentials, keyring)
        session.add(row)


async def status(database):
    async with database.reading() as session:
        return (await session.exec(select(ConnectionRow.status))).one()


class Endpoint:
    """A token endpoint that counts."""

    def __init__(self, tokens=None):
        self.asked = []
        self.tokens = tokens

    async def refresh(self, refresh_token):
        self.asked.append(refresh_token)
        if self.tokens is None:
            raise NeedsReauth
        return self.tokens


@pytest.fixture
def vault(database, keyring, row):
    endpoint = Endpoint()
    lookup = open_row_reader(database)
    vault = CredentialRepository(
        lookup, database, keyring, endpoints=lambda _id, _provider, _stored: endpoint
    )
    vault.endpoint = endpoint
    yield vault
    lookup.close()


async def test_a_changed_token_counts_at_the_next_call(database, keyring, vault):
    await put(database, keyring, accessToken="first")
    assert await vault.for_connection(1).token() == "first"
    await put(database, keyring, accessToken="second")

    assert await vault.for_connection(1).token() == "second"


async def test_decrypted_credentials_are_cached_until_they_change(
    database, keyring, vault, monkeypatch
):
    opened, decrypt = [], Keyring.decrypt
    monkeypatch.setattr(
        Keyring, "decrypt", lambda *args, **more: opened.append(1) or decrypt(*args, **more)
    )
    for text in ("same", "same", "other"):
        await put(database, keyring, accessToken=text)
        opened.clear()  # a change reads what is there

        assert [await vault.for_connection(1).token() for _ in range(3)] == [text] * 3
        assert len(opened) == 1
    vault.forget(1)
    await vault.for_connection(1).token()
    assert len(opened) == 2


async def test_an_api_token_is_used_without_a_refresh(database, keyring, vault):
    await put(database, keyring, apiToken="secret")
    bare = vault.for_connection(1, scheme="")

    assert (bare.scheme, await bare.token()) == ("", "secret")


async def test_a_rejected_fixed_token_leaves_the_connection_in_use(database, keyring, vault):
    """One odd 401 must not switch an account off until a person comes."""
    await put(database, keyring, accessToken="first")

    with pytest.raises(NeedsReauth):
        await vault.for_connection(1).token(rejected="first")
    assert await status(database) == "active"
    assert await vault.for_connection(1).token() == "first"


async def test_a_refused_token_is_renewed_and_stored(database, keyring, vault):
    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    await put(database, keyring, accessToken="first", refreshToken="renew")

    assert await vault.for_connection(1).token() == "first"
    assert await vault.for_connection(1).token(rejected="first") == "second"
    assert vault.endpoint.asked == ["renew"]
    stored = await vault.read(1)
    assert (stored["accessToken"], stored["refreshToken"]) == ("second", "next")
    assert await vault.for_connection(1).token() == "second"
    assert vault.endpoint.asked == ["renew"]


@pytest.fixture
def away(monkeypatch):
    """Return a set; while it is not empty, renewed tokens cannot be stored."""
    away, store = {True}, connection_rows.store_credentials

    async def store_credentials(*arguments, **options):
        if away:
            raise StorageUnavailable
        return await store(*arguments, **options)

    monkeypatch.setattr(connection_rows, "store_credentials", store_credentials)
    return away


async def test_renewed_tokens_are_used_and_stored_when_the_database_is_back(
    database, keyring, vault, away, monkeypatch
):
    """The provider has revoked the old refresh token: without the new one all is lost."""
    monkeypatch.setattr(credentials, "_RETRY_SECONDS", 0.0)
    stored, store = asyncio.Event(), vault._store

    async def store_and_tell(*arguments):
        await store(*arguments)
        stored.set()

    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    await put(database, keyring, accessToken="first", refreshToken="renew")

    async with vault.running():
        assert await vault.for_connection(1).token(rejected="first") == "second"
        vault.forget(1)  # as a test of the connection does
        assert await vault.for_connection(1).token() == "second"
        assert (await stored_tokens(database, keyring))["refreshToken"] == "renew"
        monkeypatch.setattr(vault, "_store", store_and_tell)
        away.clear()
        await stored.wait()

    assert (await stored_tokens(database, keyring))["accessToken"] == "second"
    assert vault.endpoint.asked == ["renew"]
    assert vault._unsaved == {}


async def test_unsaved_tokens_are_stored_at_shutdown(database, keyring, vault, away):
    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    await put(database, keyring, accessToken="first", refreshToken="renew")

    async with vault.running():
        await vault.for_connection(1).token(rejected="first")
        away.clear()

    assert (await stored_tokens(database, keyring))["refreshToken"] == "next"


async def test_unsaved_tokens_do_not_replace_a_new_consent(database, keyring, vault, away):
    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    await put(database, keyring, accessToken="first", refreshToken="renew")
    await vault.for_connection(1).token(rejected="first")
    await put(database, keyring, accessToken="consented", refreshToken="new")
    vault.forget(1)  # as every change of a connection does

    assert await vault.for_connection(1).token() == "consented"
    away.clear()
    await vault.store_unsaved()

    assert (await stored_tokens(database, keyring))["accessToken"] == "consented"
    assert vault._unsaved == {}


async def test_tokens_that_cannot_be_stored_delay_no_others(database, keyring, row, vault, away):
    """The stored credentials of the first connection are sealed with a key that left the ring."""
    async with database.writing() as session:
        second = ConnectionRow(**row.model_dump() | {"id": 2})
        first = {"accessToken": "first", "refreshToken": "renew"}
        connection_rows.replace(second, first, keyring)
        session.add(second)
    await put(database, keyring, accessToken="first", refreshToken="renew")
    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    for connection in (1, 2):
        await vault.for_connection(connection).token(rejected="first")
    async with database.writing() as session:
        unreadable = await session.get(ConnectionRow, 1)
        unreadable.credentials = None
        connection_rows.replace(unreadable, first, Keyring(["a key that left the ring"]))
        session.add(unreadable)
    away.clear()

    with pytest.raises(ValueError):
        await vault.store_unsaved()

    async with database.reading() as session:
        row = await session.get(ConnectionRow, 2)
    assert connection_rows.unseal(row, keyring)["refreshToken"] == "next"
    assert list(vault._unsaved) == [1]


async def test_stored_tokens_reactivate_a_connection_that_another_process_marked(
    database, keyring, vault, away
):
    vault.endpoint.tokens = Tokens(access_token="second", refresh_token="next")
    await put(database, keyring, accessToken="first", refreshToken="renew")
    await vault.for_connection(1).token(rejected="first")
    await connection_rows.mark_needs_reauth(database, 1, 1, keyring, NeedsReauth("refused"))
    assert await status(database) == "needs_reauth"

    away.clear()
    await vault.store_unsaved()

    assert await status(database) == "active"


async def stored_tokens(database, keyring):
    async with database.reading() as session:
        row = await session.get(ConnectionRow, 1)
    return connection_rows.unseal(row, keyring)


async def test_a_database_outage_is_not_reported_as_a_provider_failure(vault, monkeypatch):
    async def away(*_arguments, **_options):
        raise StorageUnavailable

    monkeypatch.setattr(vault._lookup, "rows", away)
    with pytest.raises(Overloaded):
        await vault.for_connection(1).token()


async def test_a_dead_refresh_token_needs_a_person(database, keyring, vault, monkeypatch):
    metrics = Metrics()
    monkeypatch.setattr(vault, "_on_refused", metrics.count_refused_refresh)
    await put(database, keyring, accessToken="first", refreshToken="dead")

    with pytest.raises(NeedsReauth):
        await vault.for_connection(1).token(rejected="first")
    assert await status(database) == "needs_reauth"
    assert b"agw_token_refreshes_refused_total 1.0" in metrics.exposition()


async def test_a_disabled_connection_stays_disabled(database, keyring, vault):
    async with database.writing() as session:
        row = await session.get(ConnectionRow, 1)
        row.status = "disabled"
        session.add(row)
    await put(database, keyring, accessToken="first")

    with pytest.raises(NeedsReauth):
        await vault.for_connection(1).token(rejected="first")
    assert await status(database) == "disabled"


async def test_without_credentials_a_person_is_needed(vault):
    with pytest.raises(NeedsReauth):
        await vault.for_connection(1).token()
    with pytest.raises(NeedsReauth):
        await vault.for_connection(99).token()


async def test_credentials_under_a_lost_key_need_a_person(database, keyring, vault):
    await put(database, Keyring(["a key that nobody has any more"]), accessToken="first")

    with pytest.raises(NeedsReauth):
        await vault.for_connection(1).token()


async def test_rotation_seals_everything_again(database, keyring, vault):
    await put(database, Keyring(["the old key of the tests"]), accessToken="first")

    first = await sealed_columns.rotate_column(database, keyring, sealed_columns.CREDENTIALS)
    second = await sealed_columns.rotate_column(database, keyring, sealed_columns.CREDENTIALS)
    assert (first.changed, second.changed) == (1, 0)
    only_new = CredentialRepository(
        open_row_reader(database), database, Keyring(["the new key of the tests"])
    )
    assert await only_new.for_connection(1).token() == "first"
    only_new._lookup.close()
