"""
Worlds that differ only in what a token may not see give the same answers to documents with edges.

30 generated documents over all surfaces, person queries among them, are compared for
each of three kinds of difference; 1,800 of each compare 5,400, which takes half an hour:
`TIMES=60 pytest -n 0 -s -m slow -o faulthandler_timeout=7200 PATH`.
That no text of the answers stands in logs, spans, metrics or decision rows is checked as after
every test: helpers/canaries.py.
"""

from random import Random

import edge_world
import generated_edges
import msgspec
import pytest
import whole_world
from hidden_differences import BLOCKS, MASKS, SHARES, change_folder, shown_without, token
from run_sizes import times

pytestmark = pytest.mark.slow

DOCUMENTS = times(30)
SAMPLED = 1 if DOCUMENTS < 500 else 4  # of so many documents one shows that the worlds differ


@pytest.fixture
def world(world_template, tmp_path):
    with whole_world.opened(world_template, tmp_path / "two") as world:
        yield world


@pytest.mark.parametrize("case", MASKS)
def test_masked_differences_change_no_answer(world, case):
    change, hidden = MASKS[case]

    compare(world, case, change, token(world, shown_without(hidden)))


def test_blocked_differences_change_no_answer(world):
    compare(world, "folder", change_folder, token(world, {}, BLOCKS))


def compare(world, case, change, masked):
    """Compare the answers to generated documents before and after a change that is hidden."""
    ids, whole = edge_world.fill(world), token(world, {})
    random = Random(case)
    documents = [generated_edges.document(random, ids) for _ in range(DOCUMENTS)]
    before = [answer(world, masked, document) for document in documents]
    sample = documents[::SAMPLED]
    seen = [answer(world, whole, document) for document in sample]

    change(world)

    for document, expected in zip(documents, before, strict=True):
        assert answer(world, masked, document) == expected, document
    answered = [status == 200 for status, _ in before]
    assert sum(answered) > DOCUMENTS / 2  # others are too costly
    after = [answer(world, whole, document) for document in sample]
    differing = sum(old != new for old, new in zip(seen, after, strict=True))
    assert differing > len(sample) * SHARES[case]
    share = f"{differing} of {len(sample)} differ where all is visible"
    print(f"{sum(answered)} of {DOCUMENTS} documents answered, {share}")  # noqa: T201


def answer(world, secret, document):
    return world.runner.run(_answer(world, secret, document))


async def _answer(world, secret, document):
    async with world.world.client(secret) as client:
        headers = {"x-request-id": "same"}
        response = await client.post("/graphql", json={"query": document}, headers=headers)
    assert response.status_code in {200, 400}, response.text
    body = msgspec.json.decode(response.content)
    # Edges of one list run at the same time; their errors stand in the order of their ends.
    body.get("errors", []).sort(key=msgspec.json.encode)
    return response.status_code, msgspec.json.encode(body)
