"""POST /graphql/explain: why a document is refused, as far as the token's holder may know it."""

import asyncio

import pytest
import whole_world
import world as worlds
from twenty_writes import upstream_writes

from policy.vocabulary import Layer

ORDER = [layer.value for layer in Layer]
SEND = 'mutation { sendEmail(input: {to: [{email: "bo@work.example"}], subject: "s", body: "b"}) '
SEND += "{ success } }"


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("explain") / "world") as whole:
        yield whole


def explain(whole, query, variables=None, **settings):
    token = whole.runner.run(whole.world.token({**whole_world.SETTINGS, **settings}))
    body = {"query": query, "variables": variables or {}}
    headers = {"authorization": f"Bearer {token}"}
    before = whole.upstream_calls()
    answer = whole.call("POST", "/graphql/explain", json=body, headers=headers)[0]
    return answer, whole.upstream_calls() - before


def layers(refusing, skipped=()):
    place = ORDER.index(refusing)
    return [
        {
            "layer": layer,
            "outcome": "refused"
            if layer == refusing
            else "passed"
            if index < place and layer not in skipped
            else "not_reached",
        }
        for index, layer in enumerate(ORDER)
    ]


def test_a_missing_operation_is_named(whole):
    answer, calls = explain(whole, SEND, allowedEmailOperations=["view_email"])

    assert answer.json() == {
        "fields": [
            {
                "key": "sendEmail",
                "field": "sendEmail",
                "outcome": "refused",
                "code": "OPERATION_NOT_ALLOWED",
                "message": "This token does not allow send_email.",
                "layers": layers("operation"),
                "remedy": "An operator can add send_email to the token's operations.",
            }
        ]
    }
    assert calls == 0


def test_a_filter_by_a_hidden_field_is_refused_by_the_mask(whole):
    query = '{ emails(from: "ana") { totalCount } }'
    answer, calls = explain(whole, query, visibleEmailFields=["subject"])

    (field,) = answer.json()["fields"]
    assert (field["code"], field["layers"]) == (
        "FIELD_NOT_VISIBLE",
        layers("mask", skipped=("scope", "upstream")),
    )
    assert field["remedy"].startswith("Leave out what would reveal the hidden field")
    assert calls == 0


def test_a_surface_that_is_off_is_refused_and_its_sibling_allowed(whole):
    query = "{ a: emails(limit: 1) { hasMore } b: calendars { accessInfo } }"
    answer, _ = explain(whole, query, emailAccessEnabled=False)

    refused, allowed = answer.json()["fields"]
    assert (refused["key"], refused["code"], refused["layers"]) == (
        "a",
        "EMAIL_NOT_ENABLED",
        layers("surface"),
    )
    assert allowed == {
        "key": "b",
        "field": "calendars",
        "outcome": "allowed",
        "code": None,
        "message": None,
        "layers": [{"layer": layer, "outcome": "passed"} for layer in ORDER],
        "remedy": None,
    }


def test_a_mutation_that_is_allowed_is_not_carried_out(whole):
    stored = len(whole.world.stored_mails())
    answer, _ = explain(whole, SEND)

    assert [field["outcome"] for field in answer.json()["fields"]] == ["allowed"]
    assert len(whole.world.stored_mails()) == stored
    listed = whole.call("GET", "/api/decisions", params={"limit": 1})[0].json()["decisions"]
    assert (listed[0]["operation"], listed[0]["dryRun"], listed[0]["cost"]) == (
        "sendEmail",
        True,
        1,
    )


def test_a_message_of_draft_mode_would_be_held(whole):
    written = upstream_writes(whole)
    answer, _ = explain(whole, SEND, sendMode="draft")

    assert answer.json() == {
        "fields": [
            {
                "key": "sendEmail",
                "field": "sendEmail",
                "outcome": "held",
                "code": None,
                "message": None,
                "layers": [{"layer": layer, "outcome": "passed"} for layer in ORDER],
                "remedy": None,
            }
        ]
    }
    assert upstream_writes(whole) == written


def test_another_write_in_draft_mode_is_allowed(whole):
    query = "mutation M($id: String!) { modifyEmail(emailId: $id, input: {markAsRead: true}) "
    query += "{ success } }"
    written = upstream_writes(whole)
    answer, _ = explain(whole, query, {"id": whole.parameters["emailId"]}, sendMode="draft")

    assert [field["outcome"] for field in answer.json()["fields"]] == ["allowed"]
    assert upstream_writes(whole) == written


CREATE_CHILD = 'mutation { createChildToken(input: {name: "a child"}) { id } }'
REVOKE_CHILD = "mutation { revokeChildToken(childId: 1) { id } }"


@pytest.mark.parametrize(
    ("query", "name"), [(CREATE_CHILD, "createChildToken"), (REVOKE_CHILD, "revokeChildToken")]
)
def test_of_child_tokens_only_the_gates_are_known(whole, query, name):
    tokens = count_tokens(whole)
    answer, calls = explain(whole, query, allowChildren=True)

    assert answer.json() == {
        "fields": [
            {
                "key": name,
                "field": name,
                "outcome": "unknown",
                "code": None,
                "message": "Only the gates were checked: this field cannot be run dry.",
                "layers": [
                    {
                        "layer": layer,
                        "outcome": "passed" if place < ORDER.index("input") else "not_reached",
                    }
                    for place, layer in enumerate(ORDER)
                ],
                "remedy": None,
            }
        ]
    }
    assert calls == 0
    assert count_tokens(whole) == tokens + 1  # that of the question


def test_a_token_that_may_not_have_children_is_refused(whole):
    tokens = count_tokens(whole)
    answer, calls = explain(whole, CREATE_CHILD, allowChildren=False)

    (field,) = answer.json()["fields"]
    assert (field["outcome"], field["code"]) == ("refused", "ACCESS_DENIED")
    assert field["layers"] == layers("operation")
    assert calls == 0
    assert count_tokens(whole) == tokens + 1


def count_tokens(whole):
    response = whole.call("GET", "/api/access-tokens", params={"limit": 200})[0]
    return len(response.json()["tokens"])


@pytest.mark.parametrize(
    ("query", "code"), [("{ nothing }", "GRAPHQL_VALIDATION_FAILED"), ("{", "GRAPHQL_PARSE_FAILED")]
)
def test_an_invalid_document_is_refused_as_a_whole(whole, query, code):
    answer, calls = explain(whole, query)

    (field,) = answer.json()["fields"]
    assert (field["key"], field["field"], field["code"]) == ("", None, code)
    assert field["layers"] == layers("input")
    assert field["remedy"] == "Correct the document or its variables."
    assert calls == 0


def test_an_edge_is_explained_at_its_path(whole):
    query = "{ emails(limit: 1) { emails { thread { id } } } }"
    answer, _ = explain(whole, query, allowedEmailOperations=["search_emails"])

    outcomes = [(row["key"], row["field"], row["outcome"]) for row in answer.json()["fields"]]
    assert outcomes == [
        ("emails", "emails", "allowed"),
        ("emails.emails.thread", "Email.thread", "refused"),
    ]


def test_blocked_and_missing_are_explained_alike(whole):
    """A token with rules learns of an id that exists what it learns of one that does not."""
    query = "query F($id: String!) { collabFile(fileId: $id) { file { id } } }"
    real = whole.parameters["fileId"]
    made_up = real[:-4] + ("AAAA" if real[-4:] != "AAAA" else "BBBB")
    answers = [
        explain(whole, query, {"id": file_id}, collabAllowAllDefault=False)
        for file_id in (real, made_up)
    ]

    blocked, missing = (answer.json()["fields"][0] for answer, _ in answers)
    assert blocked == missing
    assert blocked["code"] == "BLOCKED"
    assert blocked["layers"] == layers("scope")
    assert answers[0][1] == answers[1][1]


def test_neither_rules_nor_changes_are_shown(whole):
    answer, _ = explain(whole, "{ collabSites { hasMore } }", collabAllowAllDefault=False)

    assert list(answer.json()) == ["fields"]
    assert "rule" not in answer.text.replace("The token's rules, scopes", "")


@pytest.mark.parametrize("token", ["agw_nobody", None])
def test_a_token_is_needed(whole, token):
    headers = {"authorization": f"Bearer {token}" if token else ""}
    answer = whole.call("POST", "/graphql/explain", json={"query": "{"}, headers=headers)[0]

    assert answer.status_code == 401
    assert answer.json()["error"] is None


def test_a_quota_that_is_used_up_refuses_the_question(world_template, tmp_path):
    async def ask():
        async with worlds.opened(*world_template, tmp_path / "limited") as world:
            token = await world.token({"emailAccessEnabled": True, "quota": {"perHour": 1}})
            async with world.client(token) as client:
                body = {"query": "{ accessToken { name } }"}
                return [await client.post("/graphql/explain", json=body) for _ in range(2)]

    first, second = asyncio.run(ask())
    assert first.json()["fields"][0]["outcome"] == "allowed"
    assert (second.status_code, second.json()["error"]) == (429, None)
    assert int(second.headers["retry-after"]) > 0


def test_a_body_that_is_too_large_is_refused(whole):
    answer, _ = explain(whole, "{ accessToken { name } } #" + "x" * 70_000)

    (field,) = answer.json()["fields"]
    assert (field["code"], field["outcome"]) == ("PAYLOAD_TOO_LARGE", "refused")
