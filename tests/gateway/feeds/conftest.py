"""Calendars whose changes are told by streams; each module opens `shared_calendars` of its own."""

import pytest

from gateway.feeds import streams as shared


@pytest.fixture
def agendas(shared_calendars):
    shared_calendars.clear()
    yield shared_calendars
    shared_calendars.clear()


@pytest.fixture
def streams(agendas, monkeypatch):
    """Let polls follow each other at once."""
    streams = agendas.world.gateway.services.streams
    monkeypatch.setattr(streams, "poll_seconds", 0.03)
    monkeypatch.setattr(shared, "PAUSE_SECONDS", 0.01)
    yield streams
    assert streams.count == 0
