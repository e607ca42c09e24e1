"""`operator` and `resource`: from an empty store to a token, by commands alone."""

import json
from datetime import UTC, datetime, timedelta

import pytest


def read_json(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_from_an_empty_store_to_a_token(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    bo = read_json(run("operator", "add", "bo@example.org", "Bo", "--json"))["id"]
    words = ("--operator", bo, "--operator", ada, "--operator", bo)
    made = read_json(run("resource", "add", "main", *words, "--json"))
    assert (made["id"], made["name"], made["operatorIds"]) == (1, "main", sorted([ada, bo]))
    assert run("resource", "add", "alone").stdout == "2\n"

    people = read_json(run("operator", "list", "--json"))
    assert [(operator["id"], operator["displayName"]) for operator in people] == [
        (ada, "Ada"),
        (bo, "Bo"),
    ]
    assert read_json(run("resource", "list", "--json"))[0] == made
    assert ada in run("operator", "list").stdout
    assert run("resource", "list").stdout.splitlines()[2].split() == ["2", "alone"]
    assert run("token", "create", "t", "--operator", ada, "--resource", 1).exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("operator", "add", "nobody", "N"), "email: must be an e-mail address"),
        (("operator", "add", "a@b.org", " "), "displayName: must not be blank"),
        (("resource", "add", "x" * 101), "name: must have at most 100 characters"),
        (("resource", "add", "r", "--operator", "nobody"), "There is no operator nobody."),
    ],
)
def test_invalid_values_add_nothing(run, deployed, words, message):
    refused = run(*words)

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert message in refused.stderr
    assert read_json(run(words[0], "list", "--json")) == []


def test_operators_and_resources_are_changed_linked_and_removed(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    bo = run("operator", "add", "bo@example.org", "Bo").stdout.strip()
    run("resource", "add", "main", "--operator", ada)

    changed = read_json(run("operator", "change", ada, "--name", "Ada L", "--json"))
    assert (changed["email"], changed["displayName"]) == ("ada@example.org", "Ada L")
    linked = read_json(run("resource", "change", 1, "--link", bo, "--json"))
    assert linked["operatorIds"] == sorted([ada, bo])
    words = ("--unlink", ada, "--name", "shared", "--json")
    unlinked = read_json(run("resource", "change", 1, *words))
    assert (unlinked["name"], unlinked["operatorIds"]) == ("shared", [bo])

    assert run("operator", "remove", ada).exit_code == 2  # nobody can be asked
    assert len(read_json(run("operator", "list", "--json"))) == 2
    assert run("operator", "remove", ada, "--yes").stderr == f"Operator {ada} is removed.\n"
    assert run("resource", "remove", 1, "--yes").stderr == "Resource 1 is removed.\n"
    assert [row["id"] for row in read_json(run("operator", "list", "--json"))] == [bo]
    assert read_json(run("resource", "list", "--json")) == []


@pytest.mark.parametrize("words", [("operator", "change", "x"), ("resource", "change", "1")])
def test_a_change_of_nothing_is_wrong_usage(run, deployed, words):
    assert run(*words).exit_code == 2


def test_a_token_ends_after_a_period(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    run("resource", "add", "main", "--operator", ada)
    before = datetime.now(UTC)
    words = ("--operator", ada, "--resource", 1, "--expires", "30d", "--json")
    made = read_json(run("token", "create", "t", *words))

    ends = datetime.fromisoformat(made["expiresAt"]) - timedelta(days=30)
    assert before - timedelta(seconds=1) <= ends <= datetime.now(UTC)
    changed = read_json(run("token", "change", made["id"], "--expires", "never", "--json"))
    assert changed["expiresAt"] is None


def created(run, *words):
    """Return what `token create` made, and what it said."""
    done = run("token", "create", "t", *words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_a_token_of_a_preset_belongs_to_the_only_operator(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    run("resource", "add", "main", "--operator", ada)

    made = created(run, "--preset", "calendar-busy", "--settings", '{"timeframePastDays": 0}')

    assert (made["operatorId"], made["resourceIds"]) == (ada, [1])
    changed = {
        "calendarAccessEnabled": True,
        "calendarAccessLevel": "free_busy_only",
        "timeframePastDays": 0,
    }
    assert made["settings"] == {**made["settings"], **changed}
    assert made["warnings"] == []
    assert made["effectiveEmailOperations"] == []
    assert "Warning" not in run("token", "create", "t", "--preset", "reader").stderr


def test_a_token_that_can_do_nothing_says_so(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    run("resource", "add", "main", "--operator", ada)

    useless = "This token can do nothing: its settings enable no surface."
    assert f"Warning: {useless}" in run("token", "create", "t").stderr
    assert useless in run("token", "show", 1).stdout
    assert "effectiveEmailOperations: []" in run("token", "show", 1).stdout


def test_several_operators_and_resources_are_named_as_choices(run, deployed):
    assert "There is no operator with a resource" in run("token", "create", "t").stderr
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    bo = run("operator", "add", "bo@example.org", "Bo").stdout.strip()
    run("resource", "add", "main", "--operator", ada)
    run("resource", "add", "shared", "--operator", ada, "--operator", bo)
    choices = (
        f"  --operator {ada} --resource 1  (ada@example.org, main)\n"
        f"  --operator {ada} --resource 2  (ada@example.org, shared)\n"
        f"  --operator {bo} --resource 2  (bo@example.org, shared)\n"
    )
    named = "name them by --operator and --resource:\n" + choices

    for words in ((), ("--operator", ada), ("--resource", 2)):
        refused = run("token", "create", "t", *words)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr == f"There are several operators or resources: {named}"
    assert run("token", "create", "t", "--operator", "x").stderr == f"None fits: {named}"
    assert run("token", "create", "t", "--operator", bo).exit_code == 0
    assert run("token", "create", "t", "--resource", 1).exit_code == 0
    both = created(run, "--operator", ada, "--resource", 1, "--resource", 2)
    assert both["resourceIds"] == [1, 2]
    assert len(json.loads(run("token", "list", "--json").stdout)) == 3


def test_an_unknown_preset_is_refused_with_the_known_ones(run, deployed):
    ada = run("operator", "add", "ada@example.org", "Ada").stdout.strip()
    run("resource", "add", "main", "--operator", ada)

    refused = run("token", "create", "t", "--preset", "reeder")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "preset: must be one of 'reader', 'drafts', 'sender'" in refused.stderr
