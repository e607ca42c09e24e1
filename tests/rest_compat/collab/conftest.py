"""Content worlds: one shared by the tests that only read, and fresh copies for the others."""

import content_world
import pytest
import pytest_asyncio


@pytest.fixture(scope="session")
def content_template(world_template, tmp_path_factory, elsewhere):
    """Build the world and its content once; each test opens a copy."""
    return elsewhere(content_world.build(world_template, tmp_path_factory.mktemp("filled")))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session_content(content_template, tmp_path_factory):
    """A world that no test changes, for the whole session."""
    folder = tmp_path_factory.mktemp("content")
    async with content_world.opened(content_template, folder) as world:
        yield world


@pytest.fixture
def readonly(session_content, request):
    """The shared read-only world with an empty call log, for tests that run in its loop."""
    loop = request.node.get_closest_marker("asyncio").kwargs.get("loop_scope")
    assert loop == "session", "what goes on in the background would outlive the test's loop"
    session_content.forget_calls()
    return session_content


@pytest.fixture
async def content(content_template, tmp_path):
    """A fresh world for one test."""
    async with content_world.opened(content_template, tmp_path / "world") as world:
        yield world
