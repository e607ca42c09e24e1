"""What a listing asks of upstream stays within bounds, however many files and rules there are."""

import contentworld


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
    # The folder, those above it level by level, one page, and a batch of labels per twenty files.
    outer = [one for one in content.calls() if not one.get("batch")]
    assert len(outer) <= 4 + 1 + 5 + 5


async def test_without_rules_about_facts_no_facts_are_asked_for(content):
    token = await content.seeing("name")
    content.forget_calls()

    await content.get("/files", token, folderId=content.id("boats"))

    paths = [one["path"] for one in content.calls()]
    assert not any("extractSensitivityLabels" in path for path in paths)
    assert len(paths) <= 2
    assert contentworld.ANN not in str(content.calls())
