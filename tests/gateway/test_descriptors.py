"""A process that starts asks for the file descriptors that its connections need."""

import logging
import resource

import pytest

from gateway.server import OTHER_DESCRIPTORS, allow_descriptors

WARNING = "the limit of file descriptors is too low for AGW_MAX_CONNECTIONS"
NEEDED = 1000 + OTHER_DESCRIPTORS


@pytest.mark.parametrize(
    ("limits", "raised", "warnings"),
    [
        pytest.param((NEEDED, NEEDED), [], [], id="enough"),
        pytest.param((1024, 524_288), [(NEEDED, 524_288)], [], id="as systemd starts services"),
        pytest.param((1024, -1), [(NEEDED, -1)], [], id="no hard limit"),
        pytest.param((-1, -1), [], [], id="no limit"),
        pytest.param((128, 1024), [(1024, 1024)], [1024], id="a low hard limit"),
    ],
)
def test_the_limit_is_raised_or_named(monkeypatch, caplog, limits, raised, warnings):
    caplog.set_level(logging.WARNING, "gateway")
    set_limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, values: set_limits.append(values))

    allow_descriptors(1000)

    assert set_limits == raised
    assert [line.count for line in caplog.records] == warnings
    assert {line.message for line in caplog.records} <= {WARNING}
