"""Expired rows are deleted once an hour, by one process."""

import asyncio

import pytest

from gateway.connections.oauth_flow import CONSENT_LIFETIME_MS, OAuthFlow
from gateway.secrets.keyring import Keyring
from gateway.store import cleanup
from gateway.store.cleanup import HOUR, HourlyCleanup
from gateway.store.leases import Leases
from gateway.store.tables import ConnectionRow, OAuthAttempt, Operator, Resource


async def test_only_one_process_cleans_up_per_hour(database, time):
    done = []

    async def sweep():
        done.append(time.now)

    first, second = (HourlyCleanup(Leases(database, clock=time).take_turn, sweep) for _ in range(2))

    assert [await first.run_if_due(), await second.run_if_due(), await first.run_if_due()] == [
        True,
        False,
        False,
    ]
    time.wait(HOUR)
    assert [await second.run_if_due(), await first.run_if_due()] == [True, False]
    assert done == [time.now - HOUR * 1000, time.now]


async def test_a_failed_sweep_runs_again_an_hour_later(database, time, monkeypatch, caplog):
    """The others of that hour are not waited for: what is old stays old."""
    monkeypatch.setattr(cleanup, "_CHECK_SECONDS", 0)
    tried, again = [], asyncio.Event()

    async def sweep():
        tried.append(time.now)
        time.wait(HOUR)
        if len(tried) == 1:
            raise OSError
        again.set()
        await asyncio.Event().wait()  # until it is stopped: not in the middle of another look

    async with (
        asyncio.timeout(30),
        HourlyCleanup(Leases(database, clock=time).take_turn, sweep).running(),
    ):
        await again.wait()

    assert len(tried) == 2

    assert caplog.messages == ["old rows could not be taken out"]


async def test_an_abandoned_consent_is_deleted(database, time):
    keyring = Keyring.read("a secret key of the tests")
    flow = OAuthFlow(database, keyring, endpoints=None, clock=time)
    async with database.writing() as session:
        session.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
        session.add(Resource(id=1, name="r", created_at=0))
        await session.flush()
        session.add(
            ConnectionRow(
                id=1,
                resource_id=1,
                operator_id="o",
                kind="email",
                provider="PROVIDER_A",
                account_email="me@example.org",
                granted_scopes=[],
                can_write=False,
                status="active",
                selected_site_ids=[],
                created_at=0,
                updated_at=0,
            )
        )
        await session.flush()
        for name, age in (
            ("abandoned", CONSENT_LIFETIME_MS),
            ("under way", CONSENT_LIFETIME_MS - 1),
        ):
            session.add(
                OAuthAttempt(
                    id=name,
                    connection_id=1,
                    secret=b"",
                    expires_at=time.now - age + CONSENT_LIFETIME_MS,
                )
            )

    assert await flow.sweep() == 1
    async with database.reading() as session:
        assert await session.get(OAuthAttempt, "abandoned") is None
        assert await session.get(OAuthAttempt, "under way") is not None


async def test_a_failed_sweep_keeps_no_other_from_running(database, time):
    done = []

    async def fail():
        raise ValueError

    async def sweep():
        done.append(time.now)

    with pytest.raises(ValueError):
        await HourlyCleanup(Leases(database, clock=time).take_turn, fail, sweep).run_if_due()
    assert done == [time.now]
