"""`token change`, `token export` and `token import`: tokens move by the hashes of their texts."""

import json
import os
import stat

import pytest

from gateway.auth import token_format
from gateway.store.tables import CollabRule, Operator, Resource

on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


@pytest.fixture
def people(rows):
    """The store with an operator, his resources "main" and "other", and one of nobody's."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    for number, name in enumerate(("main", "other", "foreign"), start=1):
        rows.add(Resource(name=name, created_at=0))
        if name != "foreign":
            rows.link(operator="o", resource=number)
    return rows


@pytest.fixture
def text(run, people):
    """The text of a token that was made, with the id 1."""
    made = run("token", "create", "reports", "--operator", "o", "--resource", 1, "--json")
    return read_json(made)["token"]


def read_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@on_both
def test_only_named_members_change(run, text):
    words = ("--settings", '{"maskMode": "basic", "emailAccessEnabled": true}')
    read_json(run("token", "change", 1, *words, "--json"))
    words = ("--name", "weekly", "--expires", "2030-01-01", "--settings", '{"maskMode": null}')
    changed = read_json(run("token", "change", 1, *words, "--resource", 2, "--json"))

    assert (changed["name"], changed["expiresAt"]) == ("weekly", "2030-01-01T00:00:00Z")
    assert (changed["resourceIds"], changed["settings"]["maskMode"]) == ([2], "strict")
    assert changed["settings"]["emailAccessEnabled"] is True
    assert read_json(run("token", "change", 1, "--expires", "never", "--json"))["expiresAt"] is None
    assert run("token", "change", 1).stderr == "Token 1 was changed.\n"


def test_a_change_that_reveals_hidden_content_is_warned_of(run, text):
    changed = run("token", "change", 1, "--settings", '{"collabAccessEnabled": true}')

    assert changed.stderr == (
        "Token 1 was changed.\n"
        "Warning: `total` of a search counts content that this token may not see, and so reveals "
        "its words. With collabSearchTotals `visible` it does not.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((9,), 1),
        ((1, "--name", " "), 1),
        ((1, "--expires", "soon"), 1),
        ((1, "--resource", 9), 1),
        ((1, "--resource", 3), 1),
        ((1, "--settings", '{"x": 1}'), 1),
        ((1, "--settings", "{"), 2),
    ],
)
def test_an_invalid_change_changes_nothing(run, text, words, code):
    before = run("token", "show", 1, "--json").stdout
    refused = run("token", "change", *words)

    assert (refused.exit_code, refused.stdout) == (code, "")
    assert run("token", "show", 1, "--json").stdout == before


def test_the_list_shows_the_surfaces_of_each_token(run, text):
    words = ("--settings", '{"emailAccessEnabled": true, "allowedTaskOperations": ["view_items"]}')
    run("token", "change", 1, *words)

    headings, line = (row.split() for row in run("token", "list").stdout.splitlines())
    assert dict(zip(headings, line, strict=False))["SURFACES"] == "email,tasks"


def test_revoke_reports_the_revoked_token(run, text):
    assert read_json(run("token", "revoke", 1, "--json"))["status"] == "revoked"


def test_settings_of_accounts_move_with_a_token(run, text):
    """Also those that allow more than the token, which have no effect."""
    own = {"3": {"allowedEmailOperations": ["send_email"], "timeframePastDays": 3}}
    narrow = {"accounts": own, "allowedEmailOperations": ["read_only"], "timeframePastDays": 1}
    written = json.loads(run("token", "export").stdout)
    minted = token_format.generate()
    written["tokens"][0] |= {
        "name": "moved",
        "digest": minted.digest.hex(),
        "keyId": minted.key_id,
        "settings": narrow,
    }

    done = read_json(run("token", "import", "-", "--json", input=json.dumps(written)))

    assert done["present"] == []
    exported = json.loads(run("token", "export").stdout)["tokens"]
    (moved,) = (token for token in exported if token["name"] == "moved")
    assert {name: moved["settings"][name] for name in narrow} == narrow


@on_both
def test_a_token_is_imported_by_its_hash_once(run, text, people, rows):
    own = {"rule_type": "mime_type", "pattern": "image/*", "action": "block", "source": "manual"}
    rows.add(CollabRule(token_id=1, created_at=0, updated_at=0, **own))
    written = run("token", "export").stdout
    tokens = json.loads(written)["tokens"]
    assert [(token["name"], token["operator"], token["resources"]) for token in tokens] == [
        ("reports", "o@example.org", ["main"])
    ]
    assert tokens[0]["digest"] == token_format.digest(text).hex()
    assert text not in written

    assert read_json(run("token", "import", "-", "--json", input=written)) == {
        "imported": [],
        "present": ["reports"],
    }
    elsewhere = json.loads(written)
    minted = token_format.generate()
    elsewhere["tokens"][0] |= {
        "name": "moved",
        "digest": minted.digest.hex(),
        "keyId": minted.key_id,
    }
    done = read_json(run("token", "import", "-", "--json", input=json.dumps(elsewhere)))
    assert done == {"imported": ["moved"], "present": []}
    shown = read_json(run("token", "show", 2, "--json"))
    assert (shown["keyId"], shown["resourceIds"]) == (minted.key_id, [1])
    [rule] = read_json(run("rule", "list", 2, "--json"))
    assert (rule["pattern"], rule["action"]) == ("image/*", "block")


def entry(**members):
    return {
        "name": "n",
        "operator": "o@example.org",
        "resources": ["main"],
        "keyId": "abcd1234",
        "digest": "0" * 64,
        **members,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        pytest.param([entry(digest="x")], "tokens[0].digest", id="no digest"),
        pytest.param([entry(keyId="x")], "tokens[0].keyId", id="no key id"),
        pytest.param([entry(token="agw_x")], "tokens[0].token", id="a text"),
        pytest.param([entry(), entry(name="m")], "the same digest", id="one hash twice"),
        pytest.param([entry(operator="p@x.org")], "no operator 'p@x.org'", id="nobody"),
        pytest.param([entry(resources=["attic"])], "no resource 'attic'", id="no place"),
        pytest.param(
            [entry(resources=["foreign"])],
            "resource 'foreign', which o@example.org is not linked to",
            id="a resource of others",
        ),
        pytest.param([entry(settings={"x": 1})], "tokens[0].settings.x", id="a setting"),
        pytest.param(
            [entry(), entry(name="reports", digest="1" * 64)],
            "A token 'reports' already",
            id="a name that is taken",
        ),
    ],
)
def test_an_invalid_file_imports_no_token(run, text, tokens, message):
    document = json.dumps({"version": 1, "tokens": tokens})
    refused = run("token", "import", "-", input=document)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert message in refused.stderr
    assert [token["name"] for token in read_json(run("token", "list", "--json"))] == ["reports"]


def test_an_exported_file_is_private(run, text, people, tmp_path):
    file = tmp_path / "tokens.json"
    file.write_text("older")
    file.chmod(0o644)
    before = os.umask(0)
    try:
        done = run("token", "export", "--output", file)
    finally:
        os.umask(before)

    assert (done.exit_code, done.stdout) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == run("token", "export").stdout


def test_a_file_that_cannot_be_written_is_named(run, text, people, tmp_path):
    done = run("token", "export", "--output", tmp_path / "nowhere" / "tokens.json")

    assert done.exit_code == 1
    assert "nowhere/tokens.json" in done.stderr
    assert "Traceback" not in done.stderr
