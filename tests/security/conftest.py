"""Worlds of the security tests: those of the surfaces."""

import pytest
import pytest_asyncio
import task_world
import whole_world
import world as worlds


@pytest_asyncio.fixture
async def tasks(world_template, tmp_path):
    """Boards and a project, and the gateway over them: `tasks.world`."""
    template, known = world_template
    async with task_world.opened(template, known, tmp_path / "tasks") as world:
        filled = task_world.fill(world.sandbox)
        for provider, resource in (("BOARDS", worlds.MAIN), ("PROJECTS", worlds.EMPTY)):
            await task_world.connect(world, filled, provider, resource=resource)
        yield world, filled


@pytest.fixture(scope="module")
def served(world_template, tmp_path_factory):
    """A gateway over all its upstreams, driven from ordinary functions."""
    with whole_world.opened(world_template, tmp_path_factory.mktemp("whole")) as world:
        yield world
