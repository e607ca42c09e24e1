"""Access tokens are made, listed, changed, rotated and revoked by the admin alone."""

import re

import pytest
import pytest_asyncio

from gateway.auth import token_format
from policy.grants import DEFAULTS as DEFAULTS_OF_OLD_TOKENS
from policy.settings import OF_NEW_TOKENS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

DEFAULTS = {**DEFAULTS_OF_OLD_TOKENS, **OF_NEW_TOKENS}
TOKENS = "/api/access-tokens"
MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")


async def test_a_new_token_grants_nothing_by_default(admin, new_token, operator, resource):
    response = await admin.post(TOKENS, json=new_token)

    assert response.status_code == 201
    made = response.json()
    assert token_format.digest(made["token"]) is not None
    assert MINUTE.fullmatch(made["createdAt"])
    assert made == {
        "id": 1,
        "name": "reports",
        "keyId": made["token"][4:12],
        "operatorId": operator,
        "parentId": None,
        "resourceIds": [resource],
        "status": "active",
        "createdAt": made["createdAt"],
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
        "settings": dict(DEFAULTS),
        "effectiveEmailOperations": [],
        "effectiveTaskOperations": [],
        "effectiveCollabOperations": [],
        "warnings": [
            "This token can do nothing: its settings enable no surface. A preset, or the settings "
            "of the surfaces, enable some."
        ],
        "token": made["token"],
    }


async def test_the_token_text_is_returned_once(admin, token):
    shown = (await admin.get(f"{TOKENS}/{token['id']}")).json()
    listed = (await admin.get(TOKENS)).json()

    del token["token"]
    assert shown == token
    assert listed == {"tokens": [token], "nextPageToken": None, "hasMore": False}


async def test_settings_expiry_and_composites_are_stored(admin, new_token):
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    body = {**new_token, "settings": settings, "expiresAt": "2030-01-02T03:04:05+01:00"}
    made = (await admin.post(TOKENS, json=body)).json()

    assert made["expiresAt"] == "2030-01-02T02:04:05Z"
    assert made["settings"] == {**DEFAULTS, **settings}
    assert made["effectiveEmailOperations"][-1] == "search_directory"


@pytest.mark.parametrize(
    ("change", "details"),
    [
        pytest.param({"name": None}, [("name", "must be a text")], id="no name"),
        pytest.param({"name": ""}, [("name", "must have at least 1 character")], id="empty name"),
        pytest.param({"name": " "}, [("name", "must not be blank")], id="blank name"),
        pytest.param(
            {"name": "n" * 101}, [("name", "must have at most 100 characters")], id="long name"
        ),
        pytest.param(
            {"name": "a\x07"},
            [("name", "must not have control characters")],
            id="control character",
        ),
        pytest.param({"name": 7}, [("name", "must be a text")], id="a number as name"),
        pytest.param(
            {"operatorId": "nobody"}, [("operatorId", "is not an operator")], id="operator"
        ),
        pytest.param(
            {"resourceIds": []}, [("resourceIds", "must have at least 1 entry")], id="no resource"
        ),
        pytest.param(
            {"resourceIds": [99]}, [("resourceIds[0]", "is not a resource")], id="unknown resource"
        ),
        pytest.param(
            {"resourceIds": [True]}, [("resourceIds[0]", "must be a whole number")], id="a boolean"
        ),
        pytest.param(
            {"resourceIds": ["1"]}, [("resourceIds[0]", "must be a whole number")], id="a text"
        ),
        pytest.param(
            {"resourceIds": [2**63]},
            [("resourceIds[0]", "must be at most 9223372036854775807")],
            id="beyond 64 bits",
        ),
        pytest.param(
            {"expiresAt": "soon"},
            [("expiresAt", "must be a time, such as 2026-11-20T12:00:00Z")],
            id="not a time",
        ),
        pytest.param(
            {"expiresAt": "2020-01-01"},
            [("expiresAt", "must be in the future")],
            id="a time that has passed",
        ),
        pytest.param(
            {"expiresAt": 5},
            [("expiresAt", "must be a time, such as 2026-11-20T12:00:00Z")],
            id="a number as time",
        ),
        pytest.param(
            {"expiresAt": "9999-12-31T23:59:59-01:00"},
            [("expiresAt", "must be a time, such as 2026-11-20T12:00:00Z")],
            id="after the last year",
        ),
        pytest.param(
            {"admin": True},
            [
                (
                    "admin",
                    "is not known (known: 'name', 'operatorId', 'resourceIds', 'expiresAt', "
                    "'preset', 'settings')",
                )
            ],
            id="unknown key",
        ),
        pytest.param(
            {"settings": {"emailAccesEnabled": True}},
            [("settings.emailAccesEnabled", "There is no setting with this name.")],
            id="unknown setting",
        ),
        pytest.param(
            {"settings": {"emailAccessEnabled": "true"}},
            [("settings.emailAccessEnabled", "It must be true or false.")],
            id="a text as boolean",
        ),
        pytest.param({"settings": []}, [("settings", "must be an object")], id="settings as list"),
    ],
)
async def test_an_invalid_body_creates_no_token(admin, new_token, change, details):
    response = await admin.post(TOKENS, json={**new_token, **change})

    assert response.status_code == 400
    body = response.json()
    assert body["error"] == "VALIDATION_ERROR"
    assert body["details"] == [{"field": field, "message": why} for field, why in details]
    assert set(body) == {"error", "message", "requestId", "details"}
    assert (await admin.get(TOKENS)).json()["tokens"] == []


@pytest_asyncio.fixture(loop_scope="module")
async def foreign_resource(admin, resource):
    """A resource that the operator is not linked to; returns its id."""
    person = {"email": "bo@example.org", "displayName": "Bo"}
    other = (await admin.post("/api/operators", json=person)).json()["id"]
    new = {"name": "foreign", "operatorIds": [other]}
    return (await admin.post("/api/resources", json=new)).json()["id"]


def not_linked(response):
    """Return the detail of a refusal for a resource without its link."""
    assert response.status_code == 400
    body = response.json()
    [detail] = body["details"]
    message = f"{detail['field']} {detail['message']}."
    assert (body["error"], body["message"]) == ("VALIDATION_ERROR", message)
    return detail["field"], detail["message"]


async def test_a_token_is_created_on_resources_of_its_operator_alone(
    admin, new_token, resource, foreign_resource
):
    body = {**new_token, "resourceIds": [resource, foreign_resource]}

    assert not_linked(await admin.post(TOKENS, json=body)) == (
        "resourceIds[1]",
        f"names resource {foreign_resource}, which the operator is not linked to",
    )
    assert (await admin.get(TOKENS)).json()["tokens"] == []


async def test_a_token_is_changed_to_resources_of_its_operator_alone(
    admin, token, resource, foreign_resource
):
    url = f"{TOKENS}/{token['id']}"
    before = (await admin.get(url)).json()
    refused = await admin.patch(url, json={"name": "n", "resourceIds": [foreign_resource]})
    assert not_linked(refused)[0] == "resourceIds[0]"
    assert (await admin.get(url)).json() == before

    await admin.patch(f"/api/resources/{resource}", json={"operatorIds": []})
    assert not_linked(await admin.patch(url, json={"resourceIds": [resource]}))
    assert (await admin.patch(url, json={"name": "n"})).json() == {**before, "name": "n"}


async def test_the_error_response_to_an_invalid_body(admin):
    response = await admin.post(
        TOKENS, json={"resourceIds": "secret"}, headers={"X-Request-Id": "case-1"}
    )

    assert response.status_code == 400
    assert response.json() == {
        "error": "VALIDATION_ERROR",
        "message": "name is required.",
        "requestId": "case-1",
        "details": [
            {"field": "name", "message": "is required"},
            {"field": "operatorId", "message": "is required"},
            {"field": "resourceIds", "message": "must be a list"},
        ],
    }


async def test_a_patch_merges_settings_and_null_resets_one(admin, token):
    url = f"{TOKENS}/{token['id']}"
    await admin.patch(url, json={"settings": {"emailAccessEnabled": True, "maskMode": "basic"}})

    response = await admin.patch(
        url, json={"settings": {"maskMode": None, "timeframePastDays": 3}, "name": "audit"}
    )
    assert response.status_code == 200
    changed = response.json()
    assert changed["name"] == "audit"
    assert changed["settings"] == {**DEFAULTS, "emailAccessEnabled": True, "timeframePastDays": 3}


async def test_an_invalid_patch_changes_nothing(admin, token):
    url = f"{TOKENS}/{token['id']}"
    response = await admin.patch(
        url, json={"name": "audit", "settings": {"maskMode": "off", "emailAccessEnabled": True}}
    )

    assert response.status_code == 400
    assert response.json()["details"] == [
        {"field": "settings.maskMode", "message": "It must be one of: strict, basic."}
    ]
    del token["token"]
    assert (await admin.get(url)).json() == token


async def test_the_expiry_can_be_set_and_taken_away(admin, token):
    url = f"{TOKENS}/{token['id']}"

    past = await admin.patch(url, json={"expiresAt": "2020-01-01"})
    assert (past.json()["status"], past.json()["expiresAt"]) == ("expired", "2020-01-01T00:00:00Z")
    never = await admin.patch(url, json={"expiresAt": None})
    assert (never.json()["status"], never.json()["expiresAt"]) == ("active", None)


async def test_resources_are_replaced(admin, operator, token):
    new = {"name": "other", "operatorIds": [operator]}
    other = (await admin.post("/api/resources", json=new)).json()["id"]

    response = await admin.patch(f"{TOKENS}/{token['id']}", json={"resourceIds": [other, other]})
    assert response.json()["resourceIds"] == [other]


async def test_a_revoked_token_stays_listed_as_revoked(admin, token):
    url = f"{TOKENS}/{token['id']}"
    response = await admin.delete(url)

    assert (response.status_code, response.content) == (204, b"")
    shown = (await admin.get(url)).json()
    assert shown["status"] == "revoked"
    assert MINUTE.fullmatch(shown["revokedAt"])
    assert (await admin.delete(url)).status_code == 204
    assert (await admin.get(url)).json()["revokedAt"] == shown["revokedAt"]
    refused = await admin.post(f"{url}/rotate", json={})
    assert refused.status_code == 400
    assert refused.json()["error"] == "VALIDATION_ERROR"


async def test_rotation_gives_a_new_text(admin, token):
    response = await admin.post(f"{TOKENS}/{token['id']}/rotate")

    assert response.status_code == 200
    rotated = response.json()
    assert rotated["token"] != token["token"]
    assert rotated["keyId"] == rotated["token"][4:12]
    assert rotated == {**token, "token": rotated["token"], "keyId": rotated["keyId"]}


async def test_a_revoked_token_gets_no_new_secret(admin, token):
    url = f"{TOKENS}/{token['id']}"
    await admin.delete(url)
    revoked = (await admin.get(url)).json()
    response = await admin.post(f"{url}/rotate")

    assert response.status_code == 400
    assert response.json() == {
        "error": "VALIDATION_ERROR",
        "message": "tokenId belongs to a revoked token, which gets no new text.",
        "requestId": response.json()["requestId"],
        "details": [
            {"field": "tokenId", "message": "belongs to a revoked token, which gets no new text"}
        ],
    }
    assert (await admin.get(url)).json() == revoked


@pytest.mark.parametrize("grace", [-1, 86_401, "5", 1.5])
async def test_an_invalid_grace_period_is_refused(admin, token, grace):
    response = await admin.post(f"{TOKENS}/{token['id']}/rotate", json={"graceSeconds": grace})

    assert response.status_code == 400
    assert response.json()["details"][0]["field"] == "graceSeconds"


@pytest.mark.parametrize(
    "identifier", ["99", "0", "-1", "abc", "01", "99999999999999999999", "1.0"]
)
@pytest.mark.parametrize(
    ("method", "below"), [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")]
)
async def test_an_unknown_token_is_404(admin, identifier, method, below):
    response = await admin.request(method, f"{TOKENS}/{identifier}{below}", json={})

    assert response.status_code == 404
    body = response.json()
    assert body == {
        "error": "TOKEN_NOT_FOUND",
        "message": "There is no such access token.",
        "requestId": body["requestId"],
    }


async def test_lists_page_by_sealed_tokens(admin, new_token):
    for name in "abc":
        await admin.post(TOKENS, json={**new_token, "name": name})

    first = (await admin.get(TOKENS, params={"limit": 2})).json()
    assert [token["name"] for token in first["tokens"]] == ["a", "b"]
    assert first["hasMore"] is True
    after = {"limit": 1, "pageToken": first["nextPageToken"]}
    second = (await admin.get(TOKENS, params=after)).json()
    assert [token["name"] for token in second["tokens"]] == ["c"]
    assert (second["hasMore"], second["nextPageToken"]) == (False, None)


async def test_a_page_token_belongs_to_its_list_and_filters(admin, new_token):
    for name in "ab":
        await admin.post(TOKENS, json={**new_token, "name": name})
    page = (await admin.get(TOKENS, params={"limit": 1})).json()["nextPageToken"]
    changed = page[:10] + ("A" if page[10] != "A" else "B") + page[11:]

    for url, params in (
        (TOKENS, {"pageToken": page, "status": "active"}),
        (TOKENS, {"pageToken": changed}),
        (TOKENS, {"pageToken": "x" * 5000}),
        ("/api/resources", {"pageToken": page}),
    ):
        response = await admin.get(url, params=params)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN")


async def test_lists_are_filtered_by_status_and_operator(admin, new_token, operator):
    for name in ("active", "revoked", "expired"):
        await admin.post(TOKENS, json={**new_token, "name": name})
    await admin.delete(f"{TOKENS}/2")
    await admin.patch(f"{TOKENS}/3", json={"expiresAt": "2020-01-01"})

    async def names(**params):
        return [t["name"] for t in (await admin.get(TOKENS, params=params)).json()["tokens"]]

    for status in ("active", "revoked", "expired"):
        assert await names(status=status) == [status]
    assert len(await names(operatorId=operator)) == 3
    assert await names(operatorId="somebody else") == []
    assert len(await names(status="", operatorId="")) == 3


async def test_an_empty_value_counts_as_absent(admin, token):
    response = await admin.get(TOKENS, params={"limit": ["", "1"], "status": ""})

    assert response.status_code == 200
    assert [listed["id"] for listed in response.json()["tokens"]] == [token["id"]]


async def test_a_limit_above_the_maximum_is_lowered_and_reported_in_a_header(admin, token):
    response = await admin.get(TOKENS, params={"limit": 201})

    assert response.status_code == 200
    assert response.headers["X-Applied-Limit"] == "200"
    assert "X-Applied-Limit" not in (await admin.get(TOKENS, params={"limit": 200})).headers


@pytest.mark.parametrize(
    ("params", "field", "why"),
    [
        ({"limit": "0"}, "limit", "must be at least 1"),
        ({"limit": "ten"}, "limit", "must be a whole number"),
        ({"limit": "1_0"}, "limit", "must be a whole number"),
        ({"status": "dead"}, "status", "must be one of 'active', 'revoked' or 'expired'"),
        (
            {"offset": "1"},
            "offset",
            "is not known (known: 'limit', 'operatorId', 'pageToken', 'status')",
        ),
        ({"limit": ["1", "2"]}, "limit", "is given more than once"),
        ({"operatorId": "a\0"}, "operatorId", "must not have the character U+0000"),
    ],
)
async def test_an_invalid_query_is_refused(admin, params, field, why):
    response = await admin.get(TOKENS, params=params)

    assert response.status_code == 400
    body = response.json()
    name = f"'{field}'" if "known:" in why else field
    assert body == {
        "error": "INVALID_PARAMETER",
        "message": f"{name} {why}.",
        "requestId": body["requestId"],
        "details": [{"field": field, "message": why}],
    }
