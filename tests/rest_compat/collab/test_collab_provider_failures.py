"""Reads whose provider denies or fails: a denied file is missing, labels come from memory."""

import pytest

FAILURES = [
    pytest.param({"kind": "401"}, id="401"),
    pytest.param({"kind": "403"}, id="403"),
    pytest.param({"kind": "429", "retryAfter": 9}, id="429"),
    pytest.param({"kind": "500"}, id="500"),
    pytest.param({"kind": "reset"}, id="reset"),
]


async def test_a_file_that_the_provider_denies_is_missing(content):
    file = content.id("house")
    await content.fail(kind="403", reason="accessDenied", match=content.resources["house"].id)

    response = await content.get(f"/files/{file}")

    assert response.status_code == 404
    assert response.json() == {
        "error": None,
        "message": "There is no resource with this id.",
        "requestId": response.headers["x-request-id"],
    }


@pytest.mark.parametrize("fault", FAILURES)
async def test_known_labels_are_listed_while_the_provider_fails(content, fault):
    before = await content.get("/sensitivity-labels")
    await content.fail(**fault)
    content.forget_calls()

    response = await content.get("/sensitivity-labels")

    assert (response.status_code, response.json()) == (200, before.json())
    assert [label["displayName"] for label in response.json()["labels"]] == ["open", "secret"]
    assert content.calls() == []
