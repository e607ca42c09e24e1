"""
Listing a large folder under 10,000 rules: the upstream calls of a page.

A page costs one call for the folder, one for its ancestors, the upstream pages that hold the whole
folder, and one per twenty files whose labels are shown or needed by rules. `LISTED_FILES` is the
number of files (1200 unless it says otherwise).
"""

import os

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

FILES = int(os.environ.get("LISTED_FILES", "1200"))
RULES = 10_000
UPSTREAM_PAGES = -(-FILES // 999)
ABOVE = 1  # the ancestors: Inner, Boats and the root of the library, in one call
LABELS = 5  # calls for a hundred files


async def pages(content, token, *, most=60, **query):
    """Page through the listing by hundreds; return the names, and the calls of each page."""
    names, costs, page = [], [], None
    while len(costs) < most:
        content.forget_calls()
        more = {"pageToken": page} if page else {}
        response = await content.get(
            "/files", token, folderId=content.id("many"), limit=100, **query, **more
        )
        assert response.status_code == 200, response.text
        names += [file["name"] for file in response.json()["files"]]
        costs.append(sum(call["batch"] is None for call in content.calls()))
        page = response.json()["nextPageToken"]
        if page is None:
            break
    return names, costs


@pytest.mark.asyncio(loop_scope="function")  # in the event loop of its world
async def test_a_page_of_a_large_folder_under_10000_rules_costs_a_known_number_of_calls(content):
    make = content.make
    content.resources["many"] = folder = make.folder(content.resources["inner"], "Many")
    files = [make.file(folder, f"{at:04}.txt", ("text", "x")) for at in range(FILES)]
    make.save()
    names = [f"{at:04}.txt" for at in range(FILES)]
    drive = folder.drive_id
    page_cost = 1 + ABOVE + UPSTREAM_PAGES + LABELS
    others = [("folder", f"{drive}:01X{at}", "block") for at in range(RULES)]
    some = [("file_id", f"{drive}:{file.id}", "block") for file in files[::2]]
    labelled = ("sensitivity_label_id", content.labels["secret"].id, "block")
    unrestricted_token = await content.token(*others)
    half = await content.token(*some, *others[: RULES - len(some)])
    wary = await content.token(*some, labelled, *others[: RULES - len(some) - 1])

    names_seen, costs = await pages(content, unrestricted_token)
    assert sorted(names_seen) == names
    assert costs == [page_cost] * (FILES // 100)

    names_seen, costs = await pages(content, unrestricted_token, orderBy="name", most=2)
    assert names_seen == names[:200]
    assert costs == [page_cost] * 2

    # The folder is read once for a page, however many of its files are hidden.
    names_seen, costs = await pages(content, half, most=3)
    assert len(names_seen) == 300
    assert set(names_seen) <= set(names[1::2])
    assert max(costs) <= page_cost

    names_seen, costs = await pages(content, half, orderBy="name", most=2)
    assert names_seen == names[1::2][:200]
    assert costs == [page_cost] * 2

    # A label rule needs the labels of every file of a page: of five pages at most.
    names_seen, costs = await pages(content, wary, most=3)
    assert set(names_seen) <= set(names[1::2])
    assert max(costs) <= page_cost + 4 * LABELS
