"""Null for a member that is not required counts as absent (docs/spec/requests.md#json-bodies)."""

import pytest
from pydantic import ValidationError

import gateway.child_tokens.inputs
import gateway.explain.request
import gateway.management.application  # noqa: F401 - defines every body
from gateway.operations import policy_document
from gateway.operations.inputs import REQUEST_BODY, Input
from policy.refusals import InvalidInput

RULE = {"ruleType": "mime_type", "pattern": "text/plain", "action": "block"}
DOCUMENT = {
    "document": "query Inbox { emails { emails { id } } }",
    "method": "GET",
    "path": "/api/saved/inbox",
}


def inputs(root=Input):
    for model in root.__subclasses__():
        yield model
        yield from inputs(model)


OPTIONAL = [
    pytest.param(model, field.alias or name, id=f"{model.__name__}.{field.alias or name}")
    for model in inputs()
    for name, field in model.model_fields.items()
    if not field.is_required()
]


@pytest.mark.parametrize(("model", "member"), OPTIONAL)
def test_no_model_of_a_body_refuses_null_for_an_optional_member(model, member):
    def outcome(members):
        try:
            return model.model_validate(members, context=REQUEST_BODY)
        except ValidationError as error:
            return [(problem["loc"], problem["type"]) for problem in error.errors()]

    assert outcome({member: None}) == outcome({})


def test_null_in_a_policy_file_is_still_refused():
    for file in ('{"version": 1, "tokens": null}', '{"version": 1, "documents": null}'):
        with pytest.raises(InvalidInput):
            policy_document.parse(file)


asynchronous = pytest.mark.asyncio(loop_scope="module")


@asynchronous
@pytest.mark.usefixtures("emptied")
async def test_null_creates_what_an_absent_member_creates(admin, new_token, resource):
    async def created(path, body, **nulls):
        answers = [await admin.post(path, json={**body, **extra}) for extra in ({}, nulls)]
        assert [answer.status_code for answer in answers] == [201, 201], answers[1].text
        plain, other = [answer.json() for answer in answers]
        own = {"id", "keyId", "createdAt", "updatedAt", "token"}
        assert {k: v for k, v in plain.items() if k not in own} == {
            k: v for k, v in other.items() if k not in own
        }

    await created("/api/access-tokens", new_token, settings=None, expiresAt=None)
    await created("/api/resources", {"name": "other"}, operatorIds=None)
    connection = {
        "resourceId": resource,
        "operatorId": new_token["operatorId"],
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": "ada@example.org",
    }
    optional = ("mode", "grantedScopes", "selectedSiteIds", "credentials", "baseUrl")
    await created("/api/connections", connection, **dict.fromkeys(optional))

    answers = [
        await admin.put("/api/documents/inbox", json={**DOCUMENT, **extra})
        for extra in ({}, {"status": None, "description": None, "tokens": None})
    ]
    assert [answer.status_code for answer in answers] == [200, 200], answers[1].text


@asynchronous
@pytest.mark.usefixtures("emptied")
async def test_null_changes_what_an_absent_member_changes(admin, token, operator, resource):
    connection = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "collab",
        "provider": "COLLAB",
        "mode": "selected_sites",
        "accountEmail": "ada@example.org",
        "grantedScopes": ["Files.Read.All"],
        "selectedSiteIds": ["site"],
    }
    await admin.post("/api/connections", json=connection)
    rules = f"/api/access-tokens/{token['id']}/collab-rules"
    await admin.post(rules, json=RULE)

    for path, members in {
        f"/api/access-tokens/{token['id']}": ("name", "resourceIds", "settings"),
        f"/api/operators/{operator}": ("email", "displayName"),
        f"/api/resources/{resource}": ("name", "operatorIds"),
        "/api/connections/1": (
            *("mode", "accountEmail", "grantedScopes", "selectedSiteIds", "status"),
        ),
        f"{rules}/1": ("pattern", "action"),
    }.items():
        before = (await admin.get(path)).json()
        changed = await admin.patch(path, json=dict.fromkeys(members))
        assert changed.status_code == 200, (path, changed.text)
        assert changed.json() == {**before, "updatedAt": changed.json().get("updatedAt")} or (
            changed.json() == before
        )


@asynchronous
@pytest.mark.usefixtures("emptied")
async def test_null_is_the_default_of_other_bodies(admin, token):
    path = f"/api/access-tokens/{token['id']}"
    boards = {"settings": {"taskBoards": [{"boardId": "7", "provider": None, "allowCreate": None}]}}

    changed = await admin.patch(path, json=boards)
    rotated = await admin.post(f"{path}/rotate", json={"graceSeconds": None})
    explained = await admin.post(
        f"{path}/explain",
        json={
            "method": "GET",
            "path": "/api/access/email/messages",
            **dict.fromkeys(("query", "body", "document", "variables", "operationName")),
            **dict.fromkeys(("address", "dryRun", "ifEffect")),
        },
    )

    assert changed.json()["settings"]["taskBoards"] == [{"boardId": "7", "allowCreate": True}]
    assert rotated.status_code == 200
    assert explained.json()["error"] == "EMAIL_NOT_ENABLED"
