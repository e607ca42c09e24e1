"""The benchmarks compare like with like: both sides of a table answer the same."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import bodies, whole
from benchmarks.corpus import Corpus
from benchmarks.requests import A_PAGE, AN_EMAIL


@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
async def test_pages_and_agendas_are_equal_on_both_sides(masked):
    assert whole.same(
        await bodies.our_page(masked=masked)(), await bodies.their_page(masked=masked)()
    )
    assert whole.same(
        await bodies.our_events(masked=masked)(), await bodies.their_events(masked=masked)()
    )


@pytest.mark.parametrize("provider", ["a", "b"])
async def test_whole_requests_are_answered_equally(provider):
    import httpx
    from benchmarks import asgi

    base, memory = "http://upstream.invalid", whole.FromMemory(Corpus())
    wanted = [A_PAGE, AN_EMAIL] if provider == "b" else [A_PAGE]
    code = f"PROVIDER_{provider.upper()}"
    async with (
        whole.ours(base, providers=[code], transport=memory) as us,
        httpx.AsyncClient(transport=memory) as client,
    ):
        them = whole.theirs(base, client, provider=provider)
        for target in wanted:
            for name, token in us.tokens.items():
                ours = await asgi.call(us.gateway, "GET", target, token)()
                assert whole.same(ours, await asgi.call(them, "GET", target, f"token-{name}")())
