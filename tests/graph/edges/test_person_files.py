"""Files of a person: those that they own, and those that are shared with them."""

import edge_world
import pytest
import whole_world
from content_world import ANN, BOB

from sandbox.collab import records as r


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("files")) as world:
        edge_world.fill(world)
        yield world


def ask(world, query):
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    return world.call("POST", "/graphql", json={"query": query})[0].json()


def shared_with(world, address):
    store = world.world.sandbox.state.content
    return sorted(
        item.name
        for item in store.every(r.Item)
        if not item.is_folder and any(address in share.to for share in store.shares(item))
    )


@pytest.mark.slow
def test_shared_files_are_those_of_which_the_person_has_a_permission(world):
    body = ask(
        world, f'{{ person(email: "{BOB}") {{ sharedFiles(limit: 100) {{ files {{ name }} }} }} }}'
    )

    names = [file["name"] for file in body["data"]["person"]["sharedFiles"]["files"]]
    assert sorted(names) == shared_with(world, BOB)
    assert len(names) > 2


def test_files_are_shared_with_a_domain(world):
    domain = BOB.rpartition("@")[2]
    body = ask(
        world, f'{{ collabFiles(sharedWith: "@{domain}", limit: 100) {{ files {{ name }} }} }}'
    )

    assert {file["name"] for file in body["data"]["collabFiles"]["files"]} >= set(
        shared_with(world, BOB)
    )


def test_files_of_a_person_are_those_that_they_own(world):
    query = '{ person(email: "%s") { files(limit: 100) { files { name owners { email } } } } }'
    body = ask(world, query.replace("%s", ANN.upper()))

    files = body["data"]["person"]["files"]["files"]
    assert len(files) > 10
    assert {owner["email"] for file in files for owner in file["owners"]} == {ANN}
    assert ask(world, query.replace("%s", "nn@x.example"))["data"]["person"]["files"]["files"] == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("sharedWith", value) for value in ("*", "@", "@*", "bob", "*@*", "@.", '@\\"x', "a@b@")),
        *(("owner", value) for value in ("*", "@", "@a.example", "ann", "ann@*", "a b@c.example")),
    ],
)
def test_a_filter_that_names_nobody_is_refused(world, argument, value):
    """Upstream's search drops a value without words, and would answer with all files."""
    body = ask(world, f'{{ collabFiles({argument}: "{value}") {{ files {{ name }} }} }}')

    assert body["data"] == {"collabFiles": None}
    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert world.upstream_calls() == 0


@pytest.mark.parametrize(("argument", "word"), [("owner", "owners"), ("sharedWith", "shared_with")])
def test_a_hidden_word_refuses_its_filter_and_nothing_is_asked(world, argument, word):
    fields = [name for name in ("name", "owners", "shared_with", "modified_time") if name != word]
    secret = world.runner.run(
        world.world.token({**whole_world.SETTINGS, "visibleCollabFields": fields})
    )
    body = world.runner.run(
        _ask_as(world, secret, f'{{ collabFiles({argument}: "{BOB}") {{ hasMore }} }}')
    )

    assert body["data"] == {"collabFiles": None}
    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert world.upstream_calls() == 0


async def _ask_as(world, secret, query):
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    async with world.world.client(secret) as client:
        return (await client.post("/graphql", json={"query": query})).json()


def test_a_place_and_a_person_exclude_each_other(world):
    site = world.parameters["siteId"]
    body = ask(world, f'{{ collabFiles(owner: "{ANN}", siteId: "{site}") {{ hasMore }} }}')

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert world.upstream_calls() == 0
