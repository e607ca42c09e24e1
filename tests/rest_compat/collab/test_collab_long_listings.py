"""
A folder of 5,000 files under 10,000 rules: a page of it costs a number of calls that is known.

In upstream's order a page costs one call for the folder, one for those above it, one page of
upstream's per page of ours while nothing is hidden (five at most), and one per twenty files whose
labels are shown or asked about. By name it costs six pages instead, which hold the whole folder.
"""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

FILES, RULES = 5000, 10_000
ABOVE = 1  # Boats, Inner's own folder, and the top of the library, in one call
LABELS = 5  # calls for a hundred files


async def pages(content, token, *, most=60, **query):
    """Go through the listing by hundreds; return the names, and the calls of each page."""
    names, costs, page = [], [], None
    while len(costs) < most:
        content.forget_calls()
        more = {"pageToken": page} if page else {}
        answer = await content.get(
            "/files", token, folderId=content.id("many"), limit=100, **query, **more
        )
        assert answer.status_code == 200, answer.text
        names += [one["name"] for one in answer.json()["files"]]
        costs.append(sum(one["batch"] is None for one in content.calls()))
        page = answer.json()["nextPageToken"]
        if page is None:
            break
    return names, costs


@pytest.mark.asyncio(loop_scope="function")  # in the loop of its own world
async def test_5000_files_under_10000_rules_cost_a_known_number_of_calls(content):
    make = content.make
    content.things["many"] = folder = make.folder(content.things["inner"], "Many")
    files = [make.file(folder, f"{at:04}.txt", ("text", "x")) for at in range(FILES)]
    make.keep()
    names = [f"{at:04}.txt" for at in range(FILES)]
    drive = folder.drive_id
    others = [("folder", f"{drive}:01X{at}", "block") for at in range(RULES)]
    some = [("file_id", f"{drive}:{one.id}", "block") for one in files[::2]]
    labelled = ("sensitivity_label_id", content.labels["secret"].id, "block")
    whole = await content.token(*others)
    half = await content.token(*some, *others[: RULES - len(some)])
    wary = await content.token(*some, labelled, *others[: RULES - len(some) - 1])

    seen, costs = await pages(content, whole)
    assert sorted(seen) == names
    assert costs == [1 + ABOVE + 1 + LABELS] * 50

    seen, costs = await pages(content, whole, orderBy="name", most=2)
    assert seen == names[:200]
    assert costs == [1 + ABOVE + 6 + LABELS] * 2

    # Every other file is hidden: two or three of upstream's pages fill one of ours.
    seen, costs = await pages(content, half, most=3)
    assert len(seen) == 300
    assert set(seen) <= set(names[1::2])
    assert max(costs) <= 1 + ABOVE + 5 + LABELS

    # By name the folder is read once, however many of its files are hidden.
    seen, costs = await pages(content, half, orderBy="name", most=2)
    assert seen == names[1::2][:200]
    assert costs == [1 + ABOVE + 6 + LABELS] * 2

    # A rule about labels asks for those of every file that it looks at: five pages' at most.
    seen, costs = await pages(content, wary, most=3)
    assert set(seen) <= set(names[1::2])
    assert max(costs) <= 1 + ABOVE + 5 + 5 * LABELS
