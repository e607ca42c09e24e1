"""Worlds of the security tests: those of the surfaces."""

import content_world
import pytest
import pytest_asyncio
import task_world
import world as worlds


@pytest.fixture(scope="session")
def content_template(world_template, tmp_path_factory, elsewhere):
    """Build the world and its content once; each test opens a copy."""
    return elsewhere(content_world.build(world_template, tmp_path_factory.mktemp("filled")))


@pytest.fixture
async def content(content_template, tmp_path):
    """A fresh world of collaboration content."""
    async with content_world.opened(content_template, tmp_path / "content") as world:
        yield world


@pytest_asyncio.fixture
async def tasks(world_template, tmp_path):
    """Boards and a project, and the gateway over them: `tasks.world`."""
    template, known = world_template
    async with task_world.opened(template, known, tmp_path / "tasks") as world:
        filled = task_world.fill(world.sandbox)
        for provider, resource in (("BOARDS", worlds.MAIN), ("PROJECTS", worlds.EMPTY)):
            await task_world.connect(world, filled, provider, resource=resource)
        yield world, filled
