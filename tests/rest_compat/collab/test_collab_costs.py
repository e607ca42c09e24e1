"""What a listing asks of upstream stays within bounds, however many files and rules there are."""

import content_world


async def test_a_listing_under_many_folder_rules_makes_few_calls(content):
    make = content.make
    folder = content.things["inner"]
    for number in range(300):
        make.file(folder, f"f{number:03}.txt", ("text", "x"))
    make.keep()
    rules = [("folder", f"b!other:01X{number}", "block") for number in range(2000)]
    token = await content.token(*rules)
    content.forget_calls()

    answer = await content.get("/files", token, folderId=content.id("inner"), limit=100)

    assert len(answer.json()["files"]) == 100
    # The folder, those above it, one page, and a batch of labels per twenty files.
    outer = [one for one in content.calls() if not one.get("batch")]
    assert len(outer) == 1 + 1 + 1 + 5


async def test_without_rules_about_facts_no_facts_are_asked_for(content):
    token = await content.seeing("name")
    content.forget_calls()

    await content.get("/files", token, folderId=content.id("boats"))

    paths = [one["path"] for one in content.calls()]
    assert not any("extractSensitivityLabels" in path for path in paths)
    assert len(paths) <= 2
    assert content_world.ANN not in str(content.calls())


async def test_a_page_of_list_items_is_filled_past_what_rules_hide(content):
    things = content.things
    things["tides"] = content.make.list_in(
        things["yard"],
        "Tides",
        (content_world.column("Height", "number"),),
        [{"Title": f"Tide {n}", "Height": 1000 - n} for n in range(1, 301)],
    )
    content.make.keep()
    seen = [("list_item_id", content.row("tides", number), "allow") for number in (1, 150)]
    token = await content.selecting(*seen)
    content.forget_calls()

    answer = await content.get(content.path("tides", 0), token, orderBy="Height", limit=2)

    body = answer.json()
    assert [one["name"] for one in body["items"]] == ["Tide 150", "Tide 1"]
    assert (body["hasMore"], body["nextPageToken"]) == (False, None)
    listed = [one for one in content.calls() if one["path"].endswith("/items")]
    assert len(listed) == 3  # the list for two of its own, and then for two hundred, twice
