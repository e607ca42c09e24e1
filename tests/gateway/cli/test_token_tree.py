"""`token tree`: tokens with their children below them."""

import json

import pytest

from gateway.store.tables import AccessToken, Operator, Resource

on_both = pytest.mark.parametrize(
    "kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
)


@pytest.fixture
def tree(run, rows):
    """Token 1 with the children 3 and 4, of which 3 has the child 5; token 2 has none."""
    rows.add(Operator(id="o", email="o@example.org", display_name="O", created_at=0))
    rows.add(Resource(name="main", created_at=0))
    rows.link(operator="o", resource=1)
    for name in ("root", "alone"):
        made = run("token", "create", name, "--operator", "o", "--resource", 1)
        assert made.exit_code == 0, made.stderr
    for number, (name, parent, revoked) in enumerate(
        [("first", 1, None), ("second", 1, 5), ("below", 3, None)], start=3
    ):
        rows.add(
            AccessToken(
                name=name,
                key_id=f"agw_{number}",
                digest=number.to_bytes(32, "big"),
                operator_id="o",
                parent_id=parent,
                settings={},
                created_at=0,
                revoked_at=revoked,
            )
        )


@on_both
def test_children_stand_below_their_parents(run, tree):
    shown = run("token", "tree")

    assert shown.exit_code == 0, shown.stderr
    heading, *lines = shown.stdout.splitlines()
    assert heading.split() == ["ID", "NAME", "KEY", "STATUS", "EXPIRES"]
    name, key = heading.index("NAME"), heading.index("KEY")
    assert [line[name:key].rstrip() for line in lines] == [
        "root",
        "  first",
        "    below",
        "  second",
        "alone",
    ]
    assert [line.split()[0] for line in lines] == ["1", "3", "5", "4", "2"]
    assert [line.split()[3] for line in lines] == [*["active"] * 3, "revoked", "active"]


@on_both
def test_the_tree_as_json_names_the_parents(run, tree):
    shown = run("token", "tree", "--json")

    listed = [(token["id"], token["parentId"]) for token in json.loads(shown.stdout)]
    assert listed == [(1, None), (3, 1), (5, 3), (4, 1), (2, None)]


@on_both
def test_revoking_a_token_revokes_what_is_below_it(run, tree):
    assert run("token", "revoke", 1).exit_code == 0

    listed = json.loads(run("token", "tree", "--json").stdout)
    assert {token["id"] for token in listed if token["status"] == "revoked"} == {1, 3, 4, 5}
