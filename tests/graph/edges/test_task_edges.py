"""Edges of the tasks surface: the item above a sub-item, for tokens with and without a scope."""

import pytest
import task_world
import whole_world
import world as worlds

DOCUMENT = """{ taskItem(itemId: "%s", provider: "PROJECTS") {
    item { name parent { name parent { name } } subItems { name parent { id } } }
} }"""


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("tasks")) as world:
        connecting = task_world.connect(world.world, world.tasks, "PROJECTS", resource=worlds.MAIN)
        world.runner.run(connecting)
        store, roof = world.tasks.projects, world.tasks.projects.tasks.find(world.tasks["roof"])
        with world.tasks.sandbox.state.database.transaction():
            beam = store.add_task(
                roof.owner,
                "Saw a beam",
                creator=roof.creator,
                parent=roof.id,
                memberships=roof.memberships,
            )
        world.tasks.ids["beam"] = beam.id
        yield world


@pytest.mark.slow
def test_a_sub_item_leads_to_the_item_above_it(world):
    gutter = {"name": "Fix the gutter", "parent": {"name": "Draw the roof", "parent": None}}

    assert read(world, "gutter") == ({**gutter, "subItems": []}, None)
    item, errors = read(world, "roof")
    assert errors is None
    assert item["parent"] is None
    assert {entry["parent"]["id"] for entry in item["subItems"]} == {world.tasks["roof"]}


def test_a_board_scope_hides_the_item_above_a_task_that_is_in_a_project_itself(world):
    """Otherwise an error would tell of an item on a board outside the scope."""
    scope = [{"boardId": world.tasks["pavilion"]}]

    of_beam, errors = read(world, "beam", taskBoards=scope)
    of_gutter, _ = read(world, "gutter", taskBoards=scope)

    assert (of_beam["parent"], errors) == (None, None)
    assert of_gutter["parent"]["name"] == "Draw the roof"


def test_the_word_sub_items_hides_the_edge(world):
    item, errors = read(world, "gutter", visibleTaskFields=["name"])

    assert item == {"name": "Fix the gutter", "parent": None, "subItems": None}
    assert errors is None
    *_, last = world.tasks.sandbox.upstreams["projects"].calls
    assert last["query"]["opt_fields"] == ["gid,name"]


def read(world, name, **settings):
    """Return the item as a new token sees it, and the errors."""
    return world.runner.run(_read(world, name, settings))


async def _read(world, name, settings):
    secret = await world.world.token({**whole_world.SETTINGS, **settings})
    world.tasks.forget()
    async with world.world.client(secret) as client:
        document = DOCUMENT % world.tasks[name]
        body = (await client.post("/graphql", json={"query": document})).json()
    return body["data"]["taskItem"]["item"], body.get("errors")
