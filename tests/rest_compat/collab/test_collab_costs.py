"""Bounds on the upstream calls of a listing, however many files and rules there are."""

import content_world
import pytest


@pytest.mark.slow
async def test_a_listing_under_many_folder_rules_makes_few_calls(content):
    make = content.make
    folder = content.resources["inner"]
    for number in range(300):
        make.file(folder, f"f{number:03}.txt", ("text", "x"))
    make.save()
    rules = [("folder", f"b!other:01X{number}", "block") for number in range(2000)]
    token = await content.token(*rules)
    content.forget_calls()

    response = await content.get("/files", token, folderId=content.id("inner"), limit=100)

    assert len(response.json()["files"]) == 100
    # The folder, its ancestors, one page, and a batch of labels per twenty files.
    unbatched_calls = [call for call in content.calls() if not call.get("batch")]
    assert len(unbatched_calls) == 1 + 1 + 1 + 5


async def test_facts_that_no_rule_needs_are_not_fetched(content):
    token = await content.token_with_fields("name")
    content.forget_calls()

    await content.get("/files", token, folderId=content.id("boats"))

    paths = [call["path"] for call in content.calls()]
    assert not any("extractSensitivityLabels" in path for path in paths)
    assert len(paths) <= 2
    assert content_world.ANN not in str(content.calls())


@pytest.mark.slow
async def test_a_page_is_filled_past_hidden_list_items(content):
    things = content.resources
    things["tides"] = content.make.list_in(
        things["yard"],
        "Tides",
        (content_world.column("Height", "number"),),
        [{"Title": f"Tide {n}", "Height": 1000 - n} for n in range(1, 301)],
    )
    content.make.save()
    visible_rules = [("list_item_id", content.row("tides", number), "allow") for number in (1, 150)]
    token = await content.block_all_token(*visible_rules)
    content.forget_calls()

    response = await content.get(content.path("tides", 0), token, orderBy="Height", limit=2)

    body = response.json()
    assert [item["name"] for item in body["items"]] == ["Tide 150", "Tide 1"]
    assert (body["hasMore"], body["nextPageToken"]) == (False, None)
    list_calls = [call for call in content.calls() if call["path"].endswith("/items")]
    assert len(list_calls) == 3  # a page of two items, then two pages of two hundred
