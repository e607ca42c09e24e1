"""`operator` and `resource`: from an empty store to a token, by commands alone."""

import json

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
