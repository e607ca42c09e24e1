"""A request that is cancelled while its edges are read leaves no read behind."""

import asyncio
import gc

import pytest

# Reads that are cancelled before they begin.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

DOCUMENTS = [
    "{ emails { emails { thread { id } } } }",
    '{ person(email: "ann@example.com") { emails { hasMore } threads { hasMore } } }',
    "{ emails { emails { thread { messageCount } from { person { received { hasMore } } } } } }",
]


@pytest.fixture(scope="module", autouse=True)
def _nothing_left():
    """Collect unawaited coroutines in this module, not in a later one."""
    yield
    gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 3, 10, 30, 100])
@pytest.mark.parametrize("document", DOCUMENTS)
async def test_no_task_is_left(ask, world, document, steps):
    never = asyncio.Event()

    async def read_threads(_ids, *, projection):
        await never.wait()

    for mailbox in world.mailboxes.values():
        mailbox.threads = read_threads
        mailbox.search = _waiting_for_people(mailbox.search, never)
    before = asyncio.all_tasks()
    request = asyncio.create_task(ask(document))
    for _ in range(steps):
        await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    for _ in range(10):
        await asyncio.sleep(0)

    assert [task.get_coro().__qualname__ for task in asyncio.all_tasks() - before] == []


def _waiting_for_people(search, never):
    async def search_or_wait(query, *, after, projection):
        if query.participant or query.recipient:
            await never.wait()
        return await search(query, after=after, projection=projection)

    return search_or_wait
