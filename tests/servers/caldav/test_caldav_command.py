"""Calendars on an owner's own server, connected by the command line."""

import json

import pytest
from caldav_servers import PASSWORD, USER, caldav_server
from command_line import CommandLine


@pytest.fixture
def command(tmp_path):
    """Runs commands over a store of the test's own."""
    return CommandLine(tmp_path)


@pytest.mark.slow
def test_calendars_are_connected_with_a_password(command):
    operator, resource = command.set_up()
    add = ["connection", "add", "calendar", "CALDAV", "ada@example.test", "--operator", operator]
    add += ["--resource", resource, "--username", USER, "--json", "--server"]
    with caldav_server("radicale") as server:
        plain = command(*add, "http://cal.example.org", stdin=f"{PASSWORD}\n")
        wrong = command(*add, server.url, stdin="wrong\n")
        right = command(*add, server.url, stdin=f"{PASSWORD}\n")
        people = command(*add, server.url, "--people", stdin=f"{PASSWORD}\n")
        connection = json.loads(right.stdout)
        tested = command("connection", "test", str(connection["id"]), "--json")
        check = ("connection", "check", str(connection["id"]), "--json")
        checked = command(*check)
        server.add_calendar("work", "Work")
        with_calendar = command(*check)

    assert plain.returncode == wrong.returncode == 1
    assert "Plain http may only lead to this machine" in plain.stderr
    assert "The calendar server refused the user name or the password." in wrong.stderr
    assert (right.returncode, connection["provider"], connection["status"]) == (
        0, "CALDAV", "active",
    )  # fmt: skip
    assert connection["baseUrl"] == server.url
    assert (connection["grantedScopes"], json.loads(people.stdout)["grantedScopes"]) == (
        [], ["carddav"],
    )  # fmt: skip
    assert PASSWORD not in right.stdout + right.stderr
    assert json.loads(tested.stdout)["ok"] is True
    assert checked_findings(checked) == [
        (
            "credentials",
            "as-expected",
            "The server takes the password, and the account can be read.",
        ),
        ("calendars", "differs", "One home of calendars; there is no calendar for events."),
        ("addresses", "as-expected", "The server names no addresses: accountEmail is the owner's."),
    ]
    assert checked_findings(with_calendar)[1:3] == [
        ("calendars", "as-expected", "One home of calendars; calendars for events: 1."),
        (
            "versions",
            "as-expected",
            "Each calendar has a version: an unchanged one costs one call.",
        ),
    ]


def checked_findings(check):
    findings = json.loads(check.stdout)["findings"]
    return [(finding["item"], finding["outcome"], finding["detail"]) for finding in findings]


@pytest.mark.slow
def test_the_provider_needs_a_server(command):
    options = ("ada@example.test", "--operator", "o", "--resource", "1")
    refused = command("connection", "add", "calendar", "CALDAV", *options)

    assert refused.returncode == 2
    assert "--server and the provider CALDAV go together" in refused.stderr
