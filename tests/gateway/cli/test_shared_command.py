"""`connection add --shared`: a mailbox on the connection of a person who may open it."""

import json

import pytest

from gateway.store.tables import ConnectionRow, Operator, Resource

SHARE = ("connection", "add", "--shared", "team@b.example", "--on", "1")


@pytest.fixture
def base(rows):
    """The mailbox of a person, without credentials."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="r", created_at=0))
    rows.link(operator="o", resource=1)
    rows.add(
        ConnectionRow(
            resource_id=1,
            operator_id="o",
            kind="email",
            provider="PROVIDER_B",
            account_email="ada@b.example",
            granted_scopes=["Mail.Read"],
            can_write=False,
            status="active",
            selected_site_ids=[],
            created_at=0,
            updated_at=0,
        )
    )


def test_it_is_stored_untested_and_listed_with_its_base(run, base):
    added = run(*SHARE, "--untested", "--json")
    listed = run("connection", "list", "--json")

    assert added.exit_code == 0, added.stderr
    made = json.loads(added.stdout)
    members = ("id", "kind", "provider", "accountEmail", "sharedOn", "operatorId", "canWrite")
    expected = [2, "email", "PROVIDER_B", "team@b.example", 1, "o", False]
    assert [made[name] for name in members] == expected
    assert [each["sharedOn"] for each in json.loads(listed.stdout)] == [None, 1]


def test_nothing_is_stored_if_the_mailbox_does_not_answer(run, base):
    added = run(*SHARE)
    listed = run("connection", "list", "--json")

    assert (added.exit_code, added.stdout) == (1, "")
    assert "Nothing is stored; --untested stores it without a test." in added.stderr
    assert [each["id"] for each in json.loads(listed.stdout)] == [1]
