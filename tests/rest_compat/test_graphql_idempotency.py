"""`Idempotency-Key` on POST /graphql, for documents that no REST path has."""

import pytest

SENDING = """sendEmail(input: {
  to: [{email: "bo@work.example"}], subject: "Once", body: "b"
}) { success }"""
DELETING = 'deleteEmail(emailId: "providerA:absent") { success }'
SENT = {"sendEmail": {"success": True}}


async def post(client, query, headers=None, **more):
    body = {"query": query, **more}
    return await client.post(
        "/graphql", json=body, headers={"Idempotency-Key": "k"} | (headers or {})
    )


def replayed(response):
    return response.headers.get("idempotent-replayed")


@pytest.mark.parametrize(
    "query",
    [
        f"mutation ($no: Boolean = false) {{ ... @include(if: $no) {{ {DELETING} }} {SENDING} }}",
        f"mutation ($no: Boolean = false) {{ {SENDING} ...F @include(if: $no) }}"
        f" fragment F on Mutation {{ {DELETING} }}",
    ],
    ids=["a field", "a fragment"],
)
@pytest.mark.caller(allowedEmailOperations=["send_email"])
async def test_a_skipped_field_needs_no_permission_and_uses_no_key(client, world, query):
    first = await post(client, query)
    second = await post(client, query)

    assert first.json()["data"] == SENT
    assert (second.content, replayed(second)) == (first.content, "true")
    assert len(world.sent("provider-a")) == 1


@pytest.mark.caller(allowedEmailOperations=["read_only"])
async def test_a_denied_mutation_uses_no_key(client, world):
    query = f"mutation {{ {SENDING} }}"
    refused = [(await post(client, query)) for _ in range(2)]
    own = (await client.get("/api/access/token")).json()["id"]
    change = {"settings": {"allowedEmailOperations": ["send_email"]}}
    await world.admin.patch(f"/api/access-tokens/{own}", json=change)
    allowed = await post(client, query)

    for answer in refused:
        assert answer.json()["errors"][0]["extensions"]["code"] == "OPERATION_NOT_ALLOWED"
        assert replayed(answer) is None
    assert (allowed.json()["data"], replayed(allowed)) == (SENT, None)
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize(
    ("query", "data"),
    [
        pytest.param(f"mutation {{ ... @skip(if: true) {{ {SENDING} }} }}", {}, id="nothing"),
        pytest.param("mutation { __typename }", {"__typename": "Mutation"}, id="introspection"),
    ],
)
async def test_a_mutation_without_fields_calls_no_upstream(client, world, query, data):
    first = await post(client, query)
    second = await post(client, query)

    assert first.json()["data"] == data
    assert (second.content, replayed(second)) == (first.content, "true")
    assert world.calls() == []


@pytest.mark.parametrize(
    ("query", "data"),
    [
        pytest.param(
            f"mutation {{ __typename {SENDING} }}",
            {"__typename": "Mutation", **SENT},
            id="beside introspection",
        ),
        pytest.param(f"mutation {{ mine: {SENDING} }}", {"mine": {"success": True}}, id="an alias"),
        pytest.param(
            f"mutation {{ ...F ...F }} fragment F on Mutation {{ {SENDING} }}",
            SENT,
            id="a fragment",
        ),
    ],
)
async def test_the_result_of_the_root_field_decides_the_intent(client, world, query, data):
    await world.fail("provider-a", kind="400", count=1, method="POST")
    refused = await post(client, query)
    sent = await post(client, query)
    again = await post(client, query)

    assert refused.json()["errors"][0]["extensions"]["code"] == "PROVIDER_ERROR"
    assert (sent.json()["data"], replayed(sent)) == (data, None)
    assert (again.content, replayed(again)) == (sent.content, "true")
    assert len(world.sent("provider-a")) == 1


TWO = f"mutation Send {{ {SENDING} }} mutation Delete {{ {DELETING} }}"


async def test_a_key_belongs_to_its_mutation_and_not_to_its_document(client, world):
    sent = await post(client, TWO, operationName="Send")
    deleted = await post(client, TWO, operationName="Delete")
    again = await post(client, f"mutation {{ {SENDING} }}")

    assert sent.json()["data"] == again.json()["data"] == SENT
    assert deleted.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"
    assert [replayed(answer) for answer in (sent, deleted, again)] == [None, None, "true"]
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda query: query.replace("Once", "Twice"), id="another argument"),
        pytest.param(lambda query: query.replace('body: "b"', 'body: " b"'), id="a blank"),
    ],
)
async def test_a_key_belongs_to_its_arguments(client, world, change):
    query = f"mutation {{ {SENDING} }}"
    await post(client, query)
    world.forget_calls()

    response = await post(client, change(query))

    assert response.status_code == 409
    assert response.json() == {
        "errors": [
            {
                "message": "This Idempotency-Key was used with another request.",
                "extensions": {
                    "code": "IDEMPOTENCY_KEY_REUSED",
                    "httpStatus": 409,
                    "requestId": response.headers["x-request-id"],
                },
            }
        ]
    }
    assert world.calls() == []
    assert len(world.sent("provider-a")) == 1


async def test_a_preference_is_not_part_of_the_fingerprint(client, world):
    query = f"mutation {{ {SENDING} }}"
    first = await post(client, query)

    second = await post(client, query, {"Prefer": "partial=fail"})

    assert (second.content, replayed(second)) == (first.content, "true")
    assert second.headers["preference-applied"] == "partial=fail"
    assert len(world.sent("provider-a")) == 1
