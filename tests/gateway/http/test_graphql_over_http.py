"""GraphQL over HTTP: media types of requests, GET; and what unknown paths point to."""

import orjson
import pytest

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

BODY = orjson.dumps({"query": "{ __typename }"})
PATHS = ["/graphql", "/graphql/rest-of", "/graphql/explain"]
DOCS = "The calls are described at /docs/."


@pytest.fixture
def bearer(token):
    return {"Authorization": f"Bearer {token['token']}", "X-Request-Id": "r"}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "kind",
    [None, "", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/jso"],
)
async def test_a_body_that_is_not_declared_as_json_is_415(client, bearer, path, kind):
    headers = bearer if kind is None else {**bearer, "Content-Type": kind}
    response = await client.post(path, content=BODY, headers=headers)

    body = response.json()
    error = body["errors"][0] if path == "/graphql" else body
    assert response.status_code == 415
    assert error["message"] == (
        "Send the body as JSON, with the header Content-Type: application/json."
    )
    assert "UNSUPPORTED_MEDIA_TYPE" in response.text
    assert "data" not in body


@pytest.mark.parametrize(
    "kind", ["application/json", "APPLICATION/JSON; charset=utf-8", "application/graphql+json"]
)
async def test_a_json_type_is_taken(client, bearer, kind):
    response = await client.post("/graphql", content=BODY, headers={**bearer, "Content-Type": kind})

    assert (response.status_code, response.json()) == (200, {"data": {"__typename": "Query"}})


async def test_the_token_is_checked_before_the_media_type(client):
    response = await client.post("/graphql", content=BODY)

    assert response.status_code == 401


async def test_a_missing_body_is_400_whatever_its_type(client, bearer):
    response = await client.post("/graphql", headers=bearer)

    assert response.status_code == 400
    assert response.json()["errors"][0]["message"] == "The body is not JSON."


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/api/access", "Did you mean /api/access/people? "),
        ("/api/access-token", "Did you mean /api/access-tokens? "),
        (
            "/api/access-tokens/3/nowhere",
            "Did you mean /api/access-tokens/{tokenId}/collab-rules? ",
        ),
        ("/api/nothing-of-this-name", ""),
        ("/explorer/nowhere.js", ""),
        ("/elsewhere", ""),
        ("/" + "a" * 4000, ""),
    ],
)
async def test_an_unknown_path_points_to_the_documentation(client, path, nearest):
    response = await client.get(path, headers={"X-Request-Id": "r"})

    assert response.status_code == 404
    assert response.json() == {
        "error": "NOT_FOUND",
        "message": f"There is nothing at this path. {nearest}{DOCS}",
        "requestId": "r",
    }
