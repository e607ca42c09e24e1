"""The three layers in their order, and what each flag opens: refused calls reach nothing."""

import pytest
from world import BROKEN, EMPTY

from policy.vocabulary import COLLAB_COMPOSITES, CollabOp

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Every call -> the flags of which one opens it. Contract, "Collaboration-content surface".
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


def written(still, path):
    names = ("notes", "yard", "berths")
    for name in names:
        path = path.replace("{" + name + "}", still.id(name))
    return path


@EVERY
async def test_a_closed_surface_is_422_first_of_all(still, method, path, flags):
    token = await still.token(
        collabAccessEnabled=False, allowedCollabOperations=[], resources=(EMPTY,)
    )
    answer = await still.call(method, written(still, path), token)

    assert (answer.status_code, answer.json()["error"]) == (422, "COLLAB_NOT_ENABLED")


@EVERY
async def test_without_any_connection_it_is_422_before_the_flag(still, method, path, flags):
    token = await still.token(allowedCollabOperations=[], resources=(EMPTY,))
    answer = await still.call(method, written(still, path), token)

    assert (answer.status_code, answer.json()["error"]) == (422, "NO_COLLAB_PROVIDER")


@EVERY
async def test_without_its_flag_a_call_is_422_and_reaches_nothing(still, method, path, flags):
    others = [flag for flag in CollabOp if flag not in flags]
    token = await still.token(allowedCollabOperations=others)
    still.forget_calls()

    answer = await still.call(method, written(still, path), token)

    body = answer.json()
    assert (answer.status_code, body["error"]) == (422, "OPERATION_NOT_ALLOWED")
    assert all(flag in body["message"] for flag in flags)
    assert set(body["requiredOperation"].split(" or ")) == flags
    assert set(answer.headers["x-required-operation"].split(" or ")) == flags
    assert still.calls() == []


@EVERY
async def test_one_flag_suffices(still, method, path, flags):
    for flag in flags:
        token = await still.token(allowedCollabOperations=[flag], resources=(BROKEN,))
        answer = await still.call(method, written(still, path), token)
        # What is wrong then is a parameter, or that no connection may be used.
        assert answer.json()["error"] in {
            "NO_PROVIDER",
            "VALIDATION_ERROR",
            "MISSING_PARAMETER",
            "INVALID_QUERY",
            "INVALID_ID",
        }


def wrong(path):
    """Write a path whose ids, or whose query, are wrong."""
    path = path.replace("{notes}", "bad").replace("{yard}", "bad").replace("{berths}", "bad")
    return path if "bad" in path else f"{path}?limit=0&folderId=bad&fileName=x"


@EVERY
async def test_the_layers_answer_in_their_order(still, method, path, flags):
    """Everything is wrong with the call; one thing after the other is mended."""
    steps = [
        ({"collabAccessEnabled": False}, "COLLAB_NOT_ENABLED"),
        ({"allowedCollabOperations": [], "resources": (EMPTY,)}, "NO_COLLAB_PROVIDER"),
        ({"allowedCollabOperations": [], "resources": (BROKEN,)}, "OPERATION_NOT_ALLOWED"),
        ({"resources": (BROKEN,)}, None),
    ]
    still.forget_calls()
    told = []
    for settings, _ in steps:
        answer = await still.call(method, wrong(path), await still.token(**settings))
        told.append((answer.status_code, answer.json()["error"]))

    assert [error for _, error in told][:3] == [error for _, error in steps][:3]
    assert told[3] == (403, "NO_PROVIDER") if path == "/sensitivity-labels" else told[3][0] == 400
    assert still.calls() == []


@pytest.mark.parametrize(("composite", "opened"), COLLAB_COMPOSITES.items())
async def test_a_composite_opens_exactly_its_flags(still, composite, opened):
    token = await still.token(allowedCollabOperations=[composite], resources=(BROKEN,))
    for method, path, flags in CALLS:
        answer = await still.call(method, written(still, path), token)
        refused = answer.json()["error"] == "OPERATION_NOT_ALLOWED"
        assert refused is (not flags & {str(flag) for flag in opened}), (method, path)


async def test_the_default_operations_are_read_only(still):
    token = await still.token(allowedCollabOperations=None)

    assert (await still.get("/sites", token)).status_code == 200
    answer = await still.call("POST", "/folders", token, json={"name": "x"})
    assert answer.json()["error"] == "OPERATION_NOT_ALLOWED"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"resources": (BROKEN,)}, id="inactive"),
        pytest.param({"allowedConnectionIds": []}, id="excluded"),
    ],
)
async def test_without_a_usable_connection_it_is_403(still, settings):
    token = await still.token(**settings)
    still.forget_calls()
    for path in ("/sites", "/files", f"/files/{still.id('notes')}", "/sensitivity-labels"):
        answer = await still.get(path, token)
        assert (answer.status_code, answer.json()["error"]) == (403, "NO_PROVIDER")
    assert still.calls() == []


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
async def test_what_is_no_id_is_400_and_reaches_nothing(still, bad):
    token = await still.token()
    still.forget_calls()
    site, berths = still.id("yard"), still.id("berths")
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
        answer = await still.call("GET", path, token)
        assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_ID"), path
    assert still.calls() == []


async def test_parts_that_do_not_belong_together_are_400(still):
    token = await still.token()
    still.forget_calls()
    company, yard = still.id("company"), still.id("yard")
    for path in (
        f"/sites/{company}/lists/{still.id('berths')}",
        f"/sites/{yard}/lists/{still.id('berths')}/items/{still.row('crew', 1)}",
        f"/sites/{yard}/lists/{still.id('berths')}/items/{still.row('berths', 1)[:-1]}01",
        f"/files/{still.id('yard')}",
    ):
        answer = await still.get(path, token)
        assert (answer.status_code, answer.json()["error"]) == (400, "INVALID_ID")
    assert still.calls() == []


async def test_rate_headers_are_on_every_answer(still):
    token = await still.token()
    for path in ("/sites", "/files/x", "/nothing"):
        answer = await still.get(path, token)
        for name in ("limit", "remaining", "reset"):
            assert answer.headers[f"x-ratelimit-{name}"].isdigit()
        assert "retry-after" not in answer.headers
