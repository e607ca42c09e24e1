"""The list of tokens, and stores that cannot be listed."""

import json

import pytest
from sqlalchemy import insert, text

from gateway.auth import token_views
from gateway.operations import tokens
from gateway.store.tables import AccessToken, CollabRule, Operator, Resource, TokenResource

EMAIL = {"emailAccessEnabled": True, "emailOperations": ["search_emails"]}


@pytest.fixture
def stored(rows):
    """Tokens of each status, with a child, resources and a block rule."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(*(Resource(name=name, created_at=0) for name in ("main", "other")))
    for number, changes in enumerate(
        [
            {"settings": EMAIL, "last_used_at": 1_500},
            {"settings": {}, "expires_at": 1},
            {"settings": EMAIL, "parent_id": 1},
            {"settings": {"collabAccessEnabled": True}, "revoked_at": 5},
        ],
        start=1,
    ):
        rows.add(
            AccessToken(
                name=f"token {number}",
                key_id=f"agw_{number}",
                digest=number.to_bytes(32, "big"),
                operator_id="o",
                created_at=number,
                **changes,
            )
        )
    rows.change(insert(TokenResource).values([(1, 2), (1, 1), (4, 1)]))
    rows.add(
        CollabRule(
            token_id=4,
            rule_type="folder",
            pattern="x",
            action="block",
            source="manual",
            created_at=0,
            updated_at=0,
        )
    )


@pytest.mark.parametrize("status", [None, "active", "revoked", "expired"])
def test_the_list_of_tokens_is_that_of_the_management_api(run, rows, stored, status):
    expected = rows._do(
        lambda session: tokens.list_all(session, status=token_views.status_of(status))
    )
    listed = run("token", "list", "--json", *(["--status", status] if status else []))

    assert listed.exit_code == 0, listed.stderr
    assert json.loads(listed.stdout) == [token.as_json() for token in expected]
    assert len(expected) == {None: 4, "active": 2, "revoked": 1, "expired": 1}[status]


def test_a_status_that_does_not_exist_is_refused(run, stored):
    refused = run("token", "list", "--status", "lost")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "status must be one of: active, revoked, expired.\n"


def test_a_file_of_a_newer_version_is_refused(run, rows):
    rows.change(text("UPDATE alembic_version SET version_num = '9999'"))
    refused = run("token", "list")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "is of version 9999, which this program does not know" in refused.stderr


def test_an_absent_file_is_made(run, environment, tmp_path):
    environment.setenv("AGW_DATA_DIR", str(tmp_path / "new"))
    listed = run("token", "list", "--json")

    assert (listed.exit_code, json.loads(listed.stdout)) == (0, [])
    assert (tmp_path / "new" / "gateway.db").exists()


def test_a_file_that_is_no_database_is_named_as_such(run, environment, tmp_path):
    (tmp_path / "gateway.db").write_text("no database" * 1000)
    refused = run("token", "list")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "file is not a database" in refused.stderr


@pytest.mark.parametrize(
    ("secret", "sentence"), [("", "AGW_SECRET_KEYS is needed"), ("short", "at least 16 characters")]
)
def test_a_list_needs_the_secret_keys(run, environment, secret, sentence):
    environment.setenv("AGW_SECRET_KEYS", secret)
    refused = run("token", "list")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert sentence in refused.stderr
