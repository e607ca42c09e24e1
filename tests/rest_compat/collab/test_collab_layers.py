"""The three layers in order, and the calls each flag allows; refusals make no upstream call."""

import pytest
from world import BROKEN, EMPTY

from policy.vocabulary import COLLAB_COMPOSITES, CollabOp

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Call -> its flags, of which one suffices; docs/spec/collab.md#endpoints.
CALLS = (
    ("GET", "/files", {"list_files", "search_files"}),
    ("GET", "/files/{notes}", {"get_file_metadata"}),
    ("GET", "/files/{notes}/download", {"download_file"}),
    ("GET", "/files/{notes}/permissions", {"get_file_metadata"}),
    ("POST", "/files/upload", {"upload_file"}),
    ("POST", "/folders", {"create_folder"}),
    ("PATCH", "/files/{notes}/rename", {"rename_file"}),
    ("PATCH", "/files/{notes}/move", {"move_file"}),
    ("DELETE", "/files/{notes}", {"delete_file"}),
    ("POST", "/files/{notes}/share", {"share_file"}),
    ("PATCH", "/files/{notes}/permissions/p", {"update_permissions"}),
    ("DELETE", "/files/{notes}/permissions/p", {"update_permissions"}),
    ("GET", "/sites", {"read_sites"}),
    ("GET", "/sites/{yard}", {"read_sites"}),
    ("GET", "/sites/{yard}/drives", {"list_files"}),
    ("GET", "/sites/{yard}/lists", {"read_lists"}),
    ("GET", "/sites/{yard}/lists/{berths}", {"read_lists"}),
    ("GET", "/sites/{yard}/lists/{berths}/items", {"read_list_item"}),
    ("GET", "/sites/{yard}/lists/{berths}/items/{berths}:item:1", {"read_list_item"}),
    ("POST", "/sites/{yard}/lists/{berths}/items", {"write_list_item"}),
    ("PATCH", "/sites/{yard}/lists/{berths}/items/{berths}:item:1", {"write_list_item"}),
    ("DELETE", "/sites/{yard}/lists/{berths}/items/{berths}:item:1", {"delete_list_item"}),
    ("GET", "/sensitivity-labels", {"read_sensitivity_labels"}),
    ("GET", "/files/{notes}/sensitivity-label", {"read_sensitivity_labels"}),
    ("GET", "/search", {"search_content"}),
)
EVERY = pytest.mark.parametrize(
    ("method", "path", "flags"),
    CALLS,
    ids=lambda value: " or ".join(sorted(value)) if isinstance(value, set) else value,
)


def written(readonly, path):
    names = ("notes", "yard", "berths")
    for name in names:
        path = path.replace("{" + name + "}", readonly.id(name))
    return path


@EVERY
async def test_a_disabled_surface_is_422_before_anything_else(readonly, method, path, flags):
    token = await readonly.token(
        collabAccessEnabled=False, allowedCollabOperations=[], resources=(EMPTY,)
    )
    response = await readonly.call(method, written(readonly, path), token)

    assert (response.status_code, response.json()["error"]) == (422, "COLLAB_NOT_ENABLED")


@EVERY
async def test_no_connection_is_422_before_the_flag_check(readonly, method, path, flags):
    token = await readonly.token(allowedCollabOperations=[], resources=(EMPTY,))
    response = await readonly.call(method, written(readonly, path), token)

    assert (response.status_code, response.json()["error"]) == (422, "NO_COLLAB_PROVIDER")


@EVERY
async def test_a_missing_flag_is_422_without_upstream_calls(readonly, method, path, flags):
    others = [flag for flag in CollabOp if flag not in flags]
    token = await readonly.token(allowedCollabOperations=others)
    readonly.forget_calls()

    response = await readonly.call(method, written(readonly, path), token)

    body = response.json()
    assert (response.status_code, body["error"]) == (422, "OPERATION_NOT_ALLOWED")
    assert all(flag in body["message"] for flag in flags)
    alternatives = body["requiredOperations"]
    assert (set(alternatives), body["requiredOperation"]) == (flags, alternatives[0])
    assert response.headers["x-required-operation"] == ", ".join(alternatives)
    assert readonly.calls() == []


@EVERY
async def test_a_single_flag_suffices(readonly, method, path, flags):
    for flag in flags:
        token = await readonly.token(allowedCollabOperations=[flag], resources=(BROKEN,))
        response = await readonly.call(method, written(readonly, path), token)
        # With the flag, the refusal is about a parameter or the unusable connection.
        assert response.json()["error"] in {
            "NO_PROVIDER",
            "VALIDATION_ERROR",
            "MISSING_PARAMETER",
            "INVALID_QUERY",
            "INVALID_ID",
        }


def wrong(path):
    """Return the path with invalid ids, or an invalid query."""
    path = path.replace("{notes}", "bad").replace("{yard}", "bad").replace("{berths}", "bad")
    return path if "bad" in path else f"{path}?limit=0&folderId=bad&fileName=x"


@EVERY
async def test_the_layers_refuse_in_order(readonly, method, path, flags):
    """The call fails every check; the checks are fixed one after the other."""
    steps = [
        ({"collabAccessEnabled": False}, "COLLAB_NOT_ENABLED"),
        ({"allowedCollabOperations": [], "resources": (EMPTY,)}, "NO_COLLAB_PROVIDER"),
        ({"allowedCollabOperations": [], "resources": (BROKEN,)}, "OPERATION_NOT_ALLOWED"),
        ({"resources": (BROKEN,)}, None),
    ]
    readonly.forget_calls()
    refusals = []
    for settings, _ in steps:
        response = await readonly.call(method, wrong(path), await readonly.token(**settings))
        refusals.append((response.status_code, response.json()["error"]))

    assert [error for _, error in refusals][:3] == [error for _, error in steps][:3]
    assert (
        refusals[3] == (403, "NO_PROVIDER")
        if path == "/sensitivity-labels"
        else refusals[3][0] == 400
    )
    assert readonly.calls() == []


@pytest.mark.parametrize(("composite", "opened"), COLLAB_COMPOSITES.items())
async def test_a_composite_flag_grants_exactly_its_members(readonly, composite, opened):
    token = await readonly.token(allowedCollabOperations=[composite], resources=(BROKEN,))
    for method, path, flags in CALLS:
        response = await readonly.call(method, written(readonly, path), token)
        refused = response.json()["error"] == "OPERATION_NOT_ALLOWED"
        assert refused is (not flags & {str(flag) for flag in opened}), (method, path)


async def test_the_default_operations_are_read_only(readonly):
    token = await readonly.token(allowedCollabOperations=None)

    assert (await readonly.get("/sites", token)).status_code == 200
    response = await readonly.call("POST", "/folders", token, json={"name": "x"})
    assert response.json()["error"] == "OPERATION_NOT_ALLOWED"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"resources": (BROKEN,)}, id="inactive"),
        pytest.param({"allowedConnectionIds": []}, id="excluded"),
    ],
)
async def test_without_a_usable_connection_it_is_403(readonly, settings):
    token = await readonly.token(**settings)
    readonly.forget_calls()
    for path in ("/sites", "/files", f"/files/{readonly.id('notes')}", "/sensitivity-labels"):
        response = await readonly.get(path, token)
        assert (response.status_code, response.json()["error"]) == (403, "NO_PROVIDER")
    assert readonly.calls() == []


BAD_IDS = (
    pytest.param("", id="empty"),
    pytest.param("%20", id="blank"),
    pytest.param("01ABC", id="no prefix"),
    pytest.param("collab:", id="the prefix alone"),
    pytest.param("collab:drive:d:item:", id="no item"),
    pytest.param("collab:drive:d:item:a%2Fb", id="a slash"),
    pytest.param("collab:drive:d:item:..", id="dots"),
    pytest.param("collab:drive:d:item:root:", id="a path"),
    pytest.param("collab:site:x", id="half a site"),
    pytest.param("collab:drive:" + "d" * 1030, id="too long"),
)


@pytest.mark.parametrize("bad", BAD_IDS)
async def test_an_invalid_id_is_400_without_upstream_calls(readonly, bad):
    token = await readonly.token()
    readonly.forget_calls()
    site, berths = readonly.id("yard"), readonly.id("berths")
    for path in (
        f"/files/{bad}",
        f"/files/{bad}/download",
        f"/files/{bad}/permissions",
        f"/files/{bad}/sensitivity-label",
        f"/sites/{bad}",
        f"/sites/{bad}/lists",
        f"/sites/{bad}/drives",
        f"/sites/{site}/lists/{bad}",
        f"/sites/{site}/lists/{bad}/items",
        f"/sites/{site}/lists/{berths}/items/{bad}",
    ):
        response = await readonly.call("GET", path, token)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_ID"), path
    assert readonly.calls() == []


async def test_ids_of_different_parents_are_400(readonly):
    token = await readonly.token()
    readonly.forget_calls()
    company, yard = readonly.id("company"), readonly.id("yard")
    for path in (
        f"/sites/{company}/lists/{readonly.id('berths')}",
        f"/sites/{yard}/lists/{readonly.id('berths')}/items/{readonly.row('crew', 1)}",
        f"/sites/{yard}/lists/{readonly.id('berths')}/items/{readonly.row('berths', 1)[:-1]}01",
        f"/files/{readonly.id('yard')}",
    ):
        response = await readonly.get(path, token)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_ID")
    assert readonly.calls() == []


async def test_rate_headers_are_on_every_response(readonly):
    token = await readonly.token()
    for path in ("/sites", "/files/x", "/nothing"):
        response = await readonly.get(path, token)
        for name in ("limit", "remaining", "reset"):
            assert response.headers[f"x-ratelimit-{name}"].isdigit()
        assert "retry-after" not in response.headers
