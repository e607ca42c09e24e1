"""The benchmarks compare like with like: both sides of a table answer the same."""

import json
import sys
from contextlib import AsyncExitStack

import pytest
from paths import REPOSITORY

sys.path.insert(0, str(REPOSITORY))

from benchmarks import bodies, edges, requests, whole
from benchmarks.corpus import Corpus
from benchmarks.inside import Inside
from benchmarks.memory import FromMemory
from benchmarks.requests import A_PAGE, AN_EMAIL


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True], ids=["unmasked", "masked"])
async def test_pages_and_agendas_are_equal_on_both_sides(masked):
    assert whole.same(
        await bodies.our_page(masked=masked)(), await bodies.their_page(masked=masked)()
    )
    assert whole.same(
        await bodies.our_events(masked=masked)(), await bodies.their_events(masked=masked)()
    )


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["a", "b"])
async def test_whole_requests_are_answered_equally(provider):
    import httpx
    from benchmarks import asgi

    base, memory = "http://upstream.invalid", FromMemory(Corpus())
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


@pytest.mark.slow
async def test_the_plain_application_knows_the_tokens_of_the_gateway():
    import httpx
    from benchmarks import asgi
    from benchmarks.baselines.sqlmodel_store import Models
    from benchmarks.baselines.stores import File

    base, memory = "http://upstream.invalid", FromMemory(Corpus())
    async with (
        whole.ours(base, providers=["PROVIDER_B"], transport=memory) as us,
        httpx.AsyncClient(transport=memory) as client,
    ):
        for name in ("plain", "masked"):
            call = ("GET", AN_EMAIL, us.tokens[name])
            ours = await asgi.call(us.gateway, *call)()
            for kind in (File, Models):
                them = whole.theirs_with_database(us, base, client, provider="b", kind=kind)
                assert whole.same(ours, await asgi.call(them, *call)())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Passing an extension instance")  # its caches live in it
async def test_frameworks_alone_and_both_graphql_endpoints_answer_equally():
    async with AsyncExitStack() as stack:
        alone = await requests._one_email_alone(stack)
        theirs, theirs_masked, ours, ours_masked = [await run() for run in alone.variants.values()]
        assert whole.same(ours, theirs)
        assert whole.same(ours_masked, theirs_masked)

    posted = requests._graphql(await Inside().records(50))
    theirs, theirs_masked, ours, ours_masked = [await run() for run in posted.variants.values()]
    assert json.loads(ours)["data"] == json.loads(theirs)["data"]
    assert json.loads(ours_masked)["data"] == json.loads(theirs_masked)["data"]


async def test_a_saved_document_answers_as_its_text_and_as_the_documented_call():
    async with AsyncExitStack() as stack:
        table = await requests._saved_document(stack)
        text, path, by_id, documented = [json.loads(await run()) for run in table.variants.values()]

    assert text == by_id
    assert path == documented
    (email,) = text["data"].values()
    assert {name: value for name, value in email.items() if name in path} == path


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Passing an extension instance")  # its caches live in it
async def test_documents_over_edges_are_equal_on_both_sides_and_of_10000_objects():
    inside = Inside()
    for case in (edges.threads(await inside.records(50)), edges.events(inside)):
        ours, theirs = [
            json.loads(await run(inside, case)()) for run in (edges.by_plan, edges.by_strawberry)
        ]
        assert ours == theirs
        assert count_objects(ours) - 1 == edges.OBJECTS  # without the page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Passing an extension instance")  # its caches live in it
async def test_a_document_of_10000_objects_is_answered_equally_by_both_graphql_endpoints():
    theirs, ours = [
        json.loads(await run())["data"]
        for run in requests.graphql_of_many_objects().variants.values()
    ]

    assert ours == theirs
    assert count_objects(ours) - 3 == edges.OBJECTS  # without the two pages and what holds them


def count_objects(value):
    if isinstance(value, dict):
        return 1 + sum(map(count_objects, value.values()))
    return sum(map(count_objects, value)) if isinstance(value, list) else 0
