"""The content world: standing still for tests that only read, fresh for those that change it."""

import contentworld
import pytest
import pytest_asyncio


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def standing(world_template, tmp_path_factory):
    """A world that nothing changes, for the whole session."""
    async with contentworld.standing(world_template, tmp_path_factory.mktemp("content")) as found:
        yield found


@pytest.fixture
def still(standing):
    """The standing world with an empty call log."""
    standing.forget_calls()
    return standing


@pytest.fixture
async def content(world):
    """A world of its own."""
    return await contentworld.opened(world)
