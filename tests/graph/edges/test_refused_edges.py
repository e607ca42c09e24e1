"""Edges that many entries are refused: the errors are bounded, and the same ones each time."""

import pytest

from graph.errors import MAX_ERRORS


@pytest.fixture
def many(world, email):
    world.mailboxes[1].emails = [email(f"m{number:02}", number) for number in range(50)]
    world.mailboxes[2].emails = []
    world.settings["allowedEmailOperations"] = ["search_emails"]
    return world


@pytest.mark.parametrize(("aliases", "unlisted"), [(1, None), (2, 50)])
async def test_errors_of_edges_are_listed_up_to_a_number(ask, many, aliases, unlisted):
    edges = " ".join(f"e{number}: thread {{ id }}" for number in range(aliases))
    _, body = await ask(f"{{ emails(limit: 50) {{ emails {{ {edges} }} }} }}")

    assert body["data"]["emails"]["emails"] == [{f"e{n}": None for n in range(aliases)}] * 50
    assert len(body["errors"]) == MAX_ERRORS == 50
    assert body["extensions"].get("unlistedErrors") == unlisted
    if unlisted:
        assert [error["path"][2:] for error in body["errors"][:3]] == [
            [0, "e0"],
            [0, "e1"],
            [1, "e0"],
        ]
    assert {error["extensions"]["code"] for error in body["errors"]} == {"OPERATION_NOT_ALLOWED"}
    assert [call[0] for call in many.mailboxes[1].calls] == ["search"]


async def test_errors_of_root_fields_are_always_listed(ask, many):
    _, body = await ask("""{
        emails(limit: 50) { emails { a: thread { id } b: thread { id } } }
        z: email(emailId: "providerA:m01") { id }
    }""")

    assert [error["path"] for error in body["errors"][:2]] == [["z"], ["emails", "emails", 0, "a"]]
    assert len(body["errors"]) == MAX_ERRORS
    assert body["extensions"]["unlistedErrors"] == 51
