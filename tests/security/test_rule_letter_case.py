"""A block rule does not fail to match because its id is written in another letter case."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.slow
@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.swapcase])
@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        pytest.param("file_id", lambda file: file.id, id="a file"),
        pytest.param("file_id", lambda file: f"{file.drive_id}:{file.id}", id="a file of a drive"),
        pytest.param("folder", lambda file: file.parent_id, id="a folder"),
        pytest.param("folder", lambda file: f"{file.drive_id}:root", id="the top"),
        pytest.param("drive_id", lambda file: file.drive_id, id="a drive"),
    ],
)
async def test_a_block_holds_in_every_spelling(readonly, kind, pattern, spelling):
    token = await readonly.token((kind, spelling(pattern(readonly.resources["sketch"])), "block"))

    response = await readonly.get(f"/files/{readonly.id('sketch')}", token)

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    listing = await readonly.get(f"/files?folderId={readonly.id('boats')}", token)
    assert readonly.id("sketch") not in [file["id"] for file in listing.json().get("files", [])]


@pytest.mark.parametrize(
    ("spelling", "status"), [(str, 200), (str.swapcase, 404)], ids=["its own", "another"]
)
async def test_an_allow_rule_names_a_drive_of_a_site_in_its_own_spelling(
    readonly, spelling, status
):
    drive = spelling(readonly.resources["sketch"].drive_id)
    token = await readonly.block_all_token(("drive_id", drive, "allow"))

    assert (await readonly.get(f"/files/{readonly.id('sketch')}", token)).status_code == status


async def test_an_alias_in_another_case_reaches_nothing(readonly):
    token = await readonly.token(("file_id", readonly.id("sketch"), "block"))

    for spelled in (
        readonly.resources["sketch"].id.lower(),
        readonly.resources["sketch"].id.swapcase(),
    ):
        drive = readonly.resources["sketch"].drive_id
        response = await readonly.get(f"/files/collab:drive:{drive}:item:{spelled}", token)
        assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
