"""The content world: standing still for tests that only read, fresh for those that change it."""

import content_world
import pytest
import pytest_asyncio


@pytest.fixture(scope="session")
def content_template(world_template, tmp_path_factory, elsewhere):
    """Make the world and its content once; each test opens a copy."""
    return elsewhere(content_world.build(world_template, tmp_path_factory.mktemp("filled")))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def standing(content_template, tmp_path_factory):
    """A world that nothing changes, for the whole session."""
    folder = tmp_path_factory.mktemp("content")
    async with content_world.opened(content_template, folder) as found:
        yield found


@pytest.fixture
def still(standing, request):
    """The standing world with an empty call log, for tests that run in its loop."""
    loop = request.node.get_closest_marker("asyncio").kwargs.get("loop_scope")
    assert loop == "session", "what goes on in the background would outlive the test's loop"
    standing.forget_calls()
    return standing


@pytest.fixture
async def content(content_template, tmp_path):
    """A world of its own."""
    async with content_world.opened(content_template, tmp_path / "world") as found:
        yield found
