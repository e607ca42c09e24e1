"""`downloadLink` of one file: the address of its download call, for tokens that may download."""

import httpx
import pytest

GRAPHQL = "query($id: String!) { collabFile(fileId: $id) { file { downloadLink } } }"


async def link_of(content, name, token=None):
    """Return the link by REST; by GraphQL it is the same."""
    file = (await content.get(f"/files/{content.id(name)}", token)).json()["file"]
    answer = await content.graphql(GRAPHQL, token, id=content.id(name))
    assert answer["data"]["collabFile"]["file"] == {"downloadLink": file["downloadLink"]}
    return file["downloadLink"]


async def test_the_link_works_with_the_token_and_ends_with_it(content):
    token = await content.token()
    link = await link_of(content, "notes", token)
    async with content.client(token) as client:
        response = await client.get(httpx.URL(link).raw_path.decode())

    assert link.endswith(f"/api/access/collab/files/{content.id('notes')}/download")
    assert response.status_code == 200
    assert response.json()["downloadUrl"]
    async with content.client("") as stranger:
        assert (await stranger.get(httpx.URL(link).raw_path.decode())).status_code == 401


async def test_without_the_operation_there_is_no_link(content):
    token = await content.token(allowedCollabOperations=["get_file_metadata"])

    assert await link_of(content, "notes", token) is None


async def test_a_folder_has_no_link(content):
    assert await link_of(content, "boats") is None


@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_a_hidden_link_is_null(content, mode):
    token = await content.token_with_fields("name", maskMode=mode)

    assert await link_of(content, "notes", token) is None


async def test_a_file_without_an_address_has_that_of_its_content(content):
    """The sandbox leaves the address out of the file's records, as Graph does at times."""
    folder = content.resources["drawings"]
    content.resources["plan"] = content.make.file(
        folder, "plan.txt", ("text", "Plan"), is_unaddressed=True
    )
    content.make.save()
    document = "query($id: String!) { collabFileLink(fileId: $id) { downloadUrl } }"

    by_rest = await content.get(f"/files/{content.id('plan')}/download")
    by_graphql = await content.graphql(document, id=content.id("plan"))

    assert by_rest.status_code == 200, by_rest.text
    for url in (by_rest.json()["downloadUrl"], by_graphql["data"]["collabFileLink"]["downloadUrl"]):
        assert "/content/download.aspx?" in url


async def test_listings_have_no_links_and_no_address_is_asked_for(content):
    content.forget_calls()

    listing = await content.get(f"/files?folderId={content.id('boats')}")
    await link_of(content, "notes")

    assert {file["downloadLink"] for file in listing.json()["files"]} == {None}
    assert not any("downloadUrl" in str(call["query"]) for call in content.calls())
