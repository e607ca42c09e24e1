"""
Worlds that differ only in what a token may not see give the same answers to saved documents.

20 documents, one list of objects with edges each, are generated over all surfaces,
saved, and compared for each of three kinds of difference; `TIMES=36` compares 2,160.
"""

import json
from random import Random

import edge_world
import generated_edges
import pytest
import whole_world
from hidden_differences import BLOCKS, MASKS, SHARES, change_folder, shown_without, token
from run_sizes import times

DOCUMENTS = times(20)
NAME, PATH = "/api/documents/generated", "/api/saved/generated"
CASES = {
    **{name: (change, shown_without(hidden), ()) for name, (change, hidden) in MASKS.items()},
    "folder": (change_folder, {}, BLOCKS),
}


ROWS = [
    *(pytest.param(case, DOCUMENTS, id=case) for case in MASKS),
    pytest.param("folder", 2 * DOCUMENTS, id="folder"),  # few of the documents show files
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "count"), ROWS)
def test_hidden_differences_change_no_answer(world_template, tmp_path, case, count):
    change, settings, rules = CASES[case]
    with whole_world.opened(world_template, tmp_path / "two") as world:
        ids = edge_world.fill(world)
        masked, whole = token(world, settings, rules), token(world, {})
        random = Random(case)
        calls = [call for _ in range(count) if (call := saved_call(world, random, ids))]
        before = [answers(world, call, masked, whole) for call in calls]

        change(world)

        after = [answers(world, call, masked, whole) for call in calls]
    for (body, _), (expected, _), (actual, _) in zip(calls, before, after, strict=True):
        assert actual == expected, body["document"]
    answered = [expected[0] == 200 for expected, _ in before]
    assert sum(answered) > count / 2  # others are too costly
    differing = sum(old != new for (_, old), (_, new) in zip(before, after, strict=True))
    assert differing > count * SHARES[case] / 3
    print(f"{sum(answered)} of {count}, {differing} differ where all is visible")  # noqa: T201


def saved_call(world, random, ids):
    """Generate a document; return the body that saves it, and its path; None: it is too costly."""
    text = generated_edges.document(random, ids, lists=1).removeprefix("{ d0: ")
    variables, path, call = [], PATH, PATH
    for value in set(ids.values()):
        if text.split("{", 1)[0].count(json.dumps(value)) == 1:  # among the root's arguments
            text = text.replace(json.dumps(value), "$id", 1)
            variables.append("$id: String!")
            path, call = f"{PATH}/{{id}}", f"{PATH}/{value}"
            break
    if "(limit: 6" in text and random.random() < 0.5:
        text = text.replace("(limit: 6", "(limit: $limit", 1)
        variables.append("$limit: Int = 6")
        call += f"?limit={random.randint(1, 6)}"
    head = f"query({', '.join(variables)}) " if variables else ""
    body = {"document": f"{head}{{ {text}", "method": "GET", "path": path}
    saved = world.call("PUT", NAME, json=body)[0]
    assert saved.status_code == 200 or saved.json()["error"] in {
        "QUERY_TOO_COSTLY",
        "VALIDATION_ERROR",  # a text of more than 8,192 characters
    }, saved.text
    return (body, call) if saved.status_code == 200 else None


def answers(world, call, *secrets):
    """Save a document and call it with each token; return statuses, headers and bodies."""
    body, path = call
    saved = world.call("PUT", NAME, json=body)[0]
    assert saved.status_code == 200, saved.text
    responses = []
    for secret in secrets:
        headers = {"authorization": f"Bearer {secret}", "x-request-id": "same"}
        response = world.call("GET", path, headers=headers)[0]
        shown = {
            name: value for name, value in response.headers.items() if name != "x-ratelimit-reset"
        }
        responses.append((response.status_code, shown, response.content))
    return responses
