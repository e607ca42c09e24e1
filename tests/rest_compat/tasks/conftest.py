"""
The tasks surface: one gateway per module, with boards and a project behind it.

Resources: `MAIN` has the boards, `EMPTY` the projects, `both` is one with both. Tests that change
something take `fresh`, boards and a project of their own.
"""

import pytest
import pytest_asyncio


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(world_template, tmp_path_factory):
    """A running gateway without rate limits."""
    import task_world

    template, known = world_template
    folder = tmp_path_factory.mktemp("tasks")
    async with task_world.opened(template, known, folder) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tasks(world):
    """The boards and the project; no test changes them."""
    import task_world
    import world as worlds

    tasks = task_world.fill(world.sandbox)
    tasks.both = await task_world.resource(world, "both")
    for resource in (worlds.MAIN, tasks.both):
        await task_world.connect(world, tasks, "BOARDS", resource=resource)
    for resource in (worlds.EMPTY, tasks.both):
        await task_world.connect(world, tasks, "PROJECTS", resource=resource)
    return tasks


@pytest.fixture
def fresh(world, tasks):
    """Boards and a project for one test."""
    import task_world

    return task_world.fill(world.sandbox, connections=tasks.connections)


@pytest_asyncio.fixture(loop_scope="module")
async def client(request, world, tasks, _made_tokens):
    """A client of the caller's: ``@pytest.mark.caller(allowedTaskOperations=["view_items"])``."""
    marker = request.node.get_closest_marker("caller")
    settings = dict(marker.kwargs) if marker else {}
    projection = settings.pop("resources", None)
    own = (
        {"resources": (getattr(tasks, projection) if projection == "both" else projection,)}
        if projection
        else {}
    )
    key = repr((sorted(settings.items()), own))
    if key not in _made_tokens:
        _made_tokens[key] = await world.token(settings, **own)
    async with world.client(_made_tokens[key]) as client:
        tasks.forget()
        yield client


@pytest.fixture(autouse=True)
def _fine_again(world):
    """Clear the faults behind every test."""
    yield
    for name in ("tasks", "projects"):
        world.sandbox.upstreams[name].faults.clear()
