"""
`docs/reference/upstream-cost.md`: the upstream calls of every REST row, small and large accounts.

    python docs/generators/upstream_cost.py [--demo]

It takes minutes and two GB of memory. With ``--demo`` it takes less than one minute, and the
columns of the volume accounts stay as they are in the page. A test holds the demo's columns to what
this makes, and all columns to the bounds of `violations`; the exit status is 1 when one is broken.
"""

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from upstream_worlds import Cost, MeasuredWorld, opened

from sandbox.collab import records as r
from sandbox.volume.accounts import VolumeAccounts
from sandbox.world.collab import sites

ACCESS = "/api/access"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "upstream-cost.md"
PROFILES = ("full", "masked")
MOST_CALLS = 30  # of one page
MOST_UNITS = 1500  # of a first page
MOST_GROWTH = 2  # times the requests in the demo
_HEAD = """# Upstream cost

What one REST call costs upstream. One run of the script `docs/generators/upstream_cost.py` measures
it with a gateway that has read nothing before, on the accounts of the demo and on the
[volume accounts](../spec/sandbox.md#volume-accounts). The masked columns are those of the demo's
token `masked`.

A page costs at most 30 calls, the first page of a listing at most 1,500 units, and no call on
volume accounts makes over twice the requests that it makes on the demo.

A cell is `calls (requests), units, size`: HTTP calls; requests, with the parts of batches counted
one by one; quota units of Gmail or resource units of SharePoint (`u`), where there are some; and
the size of the providers' responses. Calls of several providers are added up. An empty cell: there
is no such page. Page 2 of `/changes` is the next pull, with nothing changed meanwhile. Calls for
access tokens are not counted.
"""
_COLUMNS = (
    "| Call | Demo, page 1 | page 2 | Volume, page 1 | page 2 | Demo masked, page 1 | page 2 "
    "| Volume masked, page 1 | page 2 |\n|---|---|---|---|---|---|---|---|---|\n"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """
    One measured call.

    Attributes:
        path: Below ``/api/access``; braces name ids.
        query: Its parameters.
        resource: A resource of the demo other than its main one.
        body: Of a call that changes something.
    """

    path: str
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    resource: str = ""
    body: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """The call as the page shows it."""
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        shown = f"{self.method} {self.path}{'?' if query else ''}{query}"
        return f"{shown} ({self.resource})" if self.resource else shown


_WIDE = {"from": "2026-05-26T00:00:00Z", "to": "2027-05-14T00:00:00Z"}
_ITEMS = "/collab/sites/{siteId}/lists/{listId}/items"
_PROJECTS = "secondTasks"
_SELECTED = "selectedSites"
_SEND = {
    "to": [{"email": "a@example.org"}],
    "subject": "Hello",
    "body": "Hello",
    "bodyType": "text",
}

ROWS: tuple[Row, ...] = (
    Row(path="/email/messages"),
    Row(path="/email/messages", query={"subject": "invoice"}),
    Row(path="/email/messages", query={"from": "jonas@harbourlight.example"}),
    Row(path="/email/messages", query={"q": "invoice"}),
    Row(path="/email/messages", query={"label": "Suppliers"}),
    Row(path="/email/messages/{emailId}"),
    Row(path="/email/threads/{threadId}"),
    Row(path="/email/messages/send", method="POST", body=_SEND),
    Row(path="/email/messages/{emailId}/reply", method="POST", body={"body": "Yes"}),
    Row(
        path="/email/messages/{emailId}/forward",
        method="POST",
        body={"to": [{"email": "a@example.org"}], "body": "See below"},
    ),
    Row(path="/email/messages/{emailId}", method="PATCH", body={"markAsRead": True}),
    Row(path="/email/messages/{emailId}", method="DELETE"),
    Row(path="/people", query={"name": "jonas"}),
    Row(path="/changes", query={"surfaces": "email"}),
    Row(path="/calendar/events"),
    Row(path="/calendar/events", query={**_WIDE, "limit": "100"}),
    Row(path="/calendar/events", query={**_WIDE, "q": "meeting"}),
    Row(path="/calendar/events/by-contact", query={"name": "an"}),
    Row(path="/calendar/events/{eventId}"),
    Row(path="/calendar/freebusy", query=_WIDE),
    Row(path="/calendar/calendars"),
    Row(path="/tasks/providers"),
    Row(path="/tasks/boards"),
    Row(path="/tasks/boards", resource=_PROJECTS),
    Row(path="/tasks/boards/{boardId}"),
    Row(path="/tasks/boards/{projectId}", resource=_PROJECTS),
    Row(path="/tasks/boards/{boardId}/items", query={"limit": "10"}),
    Row(path="/tasks/boards/{boardId}/items", query={"limit": "2", "q": "o"}),
    Row(path="/tasks/boards/{projectId}/items", query={"limit": "5"}, resource=_PROJECTS),
    Row(path="/tasks/boards/{projectId}/items", query={"limit": "5", "q": "e"}, resource=_PROJECTS),
    Row(path="/tasks/items/{itemId}"),
    Row(path="/tasks/items/{taskId}", resource=_PROJECTS),
    Row(path="/tasks/boards/{boardId}/items", method="POST", body={"name": "Another"}),
    Row(path="/tasks/items/{itemId}/comments", method="POST", body={"body": "Seen"}),
    Row(path="/tasks/items/{itemId}", method="DELETE"),
    Row(path="/collab/files"),
    Row(path="/collab/files", query={"q": "plan"}),
    Row(path="/collab/files", query={"orderBy": "name"}),
    Row(path="/collab/files", query={"siteId": "{siteId}"}),
    Row(path="/collab/files", query={"folderId": "{folderId}", "limit": "2"}),
    Row(path="/collab/files", query={"folderId": "{folderId}", "q": "a", "limit": "2"}),
    Row(path="/collab/files", resource=_SELECTED),
    Row(path="/collab/files/{fileId}"),
    Row(path="/collab/files/{fileId}/download"),
    Row(path="/collab/files/{fileId}/permissions"),
    Row(path="/collab/files/{fileId}/sensitivity-label"),
    Row(
        path="/collab/folders", method="POST", body={"name": "New", "parentFolderId": "{folderId}"}
    ),
    Row(path="/collab/files/{fileId}/rename", method="PATCH", body={"newName": "renamed.pdf"}),
    Row(
        path="/collab/files/{fileId}/move", method="PATCH", body={"destinationFolderId": "{rootId}"}
    ),
    Row(
        path="/collab/files/{fileId}/share",
        method="POST",
        body={"type": "user", "role": "reader", "emailAddress": "a@example.org"},
    ),
    Row(path="/collab/files/{fileId}", method="DELETE"),
    Row(path="/collab/sites"),
    Row(path="/collab/sites", query={"q": "o", "limit": "2"}),
    Row(path="/collab/sites", resource=_SELECTED),
    Row(path="/collab/sites/{siteId}"),
    Row(path="/collab/sites/{siteId}/drives"),
    Row(path="/collab/sites/{siteId}/lists"),
    Row(path="/collab/sites/{siteId}/lists/{listId}"),
    Row(path=_ITEMS),
    Row(path=_ITEMS, query={"filter": "{column} ne null", "limit": "5"}),
    Row(path=_ITEMS, query={"orderBy": "{column} desc", "limit": "5"}),
    Row(path=f"{_ITEMS}/{{listId}}:item:1"),
    Row(path="/collab/sensitivity-labels"),
    Row(path="/collab/search", query={"q": "plan"}),
    Row(path="/collab/search", query={"q": "plan"}, resource=_SELECTED),
    Row(path="/token"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The costs of a row's first and second page; None for a page that there is not."""

    first: Cost
    second: Cost | None
    status: int


async def measure(world: MeasuredWorld, row: Row, ids: Mapping[str, str], profile: str) -> Measured:
    """Call a row with a gateway that has read nothing yet, then its second page."""
    token = f"{profile} {row.resource}".strip()
    path = ACCESS + row.path.format(**ids)
    query = {name: value.format(**ids) for name, value in row.query.items()}
    body = row.body and {
        name: value.format(**ids) if isinstance(value, str) else value
        for name, value in row.body.items()
    }
    async with world.client(token) as client:
        world.forget()
        answer = await client.request(row.method, path, params=query, json=body)
        first = world.cost()
        following = _following(answer, query)
        second = None
        if row.method == "GET" and following:
            world.forget()
            again = await client.get(path, params=following)
            second = world.cost() if again.status_code == 200 else None
    return Measured(first=first, second=second, status=answer.status_code)


def _following(answer: httpx.Response, query: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of the next page; empty on the last one."""
    if answer.status_code != 200:
        return {}
    body = answer.json()
    if not isinstance(body, dict):
        return {}
    if body.get("cursor"):
        return {"since": body["cursor"]}
    if body.get("nextPageToken"):
        return {**query, "pageToken": body["nextPageToken"]}
    meta = body.get("meta") or {}
    if meta.get("hasMore"):
        return {**query, "offset": str(meta["offset"] + meta["count"])}
    if body.get("moreResultsAvailable"):
        return {**query, "from": str(body["from"] + len(body["hits"]))}
    return {}


async def find_ids(world: MeasuredWorld, made: VolumeAccounts | None) -> dict[str, str]:
    """Return public ids: of the volume accounts where there are some, else of the demo."""
    store = world.sandbox.state.content
    if made is None:
        subjects = sites.seed(world.sandbox.state.database, store).subjects
        listed = next(row for row in store.every(r.SiteList) if row.id == subjects["large_list"])
        site_of_list, drive = listed.site_id, subjects["drive"]
        folder_id, file_id = subjects["folder"], subjects["file"]
        list_id, column = listed.id, listed.columns[0].name
    else:
        tenant = made.tenant
        site_of_list, drive, folder_id = tenant.site, tenant.drive, tenant.folder
        file_id, list_id, column = tenant.file, tenant.list, "Amount"
    root_id = next(entry.root_id for entry in store.every(r.Library) if entry.id == drive)
    site_id = f"collab:site:{site_of_list.lower()}"
    ids = {
        "siteId": site_id,
        "folderId": f"collab:drive:{drive}:item:{folder_id}",
        "rootId": f"collab:drive:{drive}:item:{root_id}",
        "fileId": f"collab:drive:{drive}:item:{file_id}",
        "listId": f"{site_id}:list:{list_id}",
        "column": column,
    }
    async with world.client("full") as client:
        for _ in range(2):  # the first search builds the sandbox's index, which takes long
            await client.get(f"{ACCESS}/collab/search", params={"q": "anything"})
        mails = (await client.get(f"{ACCESS}/email/messages")).json()["emails"]
        ids |= {"emailId": mails[0]["id"], "threadId": mails[0]["threadId"]}
        events = (await client.get(f"{ACCESS}/calendar/events")).json()["events"]
        ids["eventId"] = events[0]["id"]
        boards = (await client.get(f"{ACCESS}/tasks/boards")).json()["boards"]
        board = made.board if made else boards[0]["id"]
        ids["boardId"] = board
        items = (await client.get(f"{ACCESS}/tasks/boards/{board}/items")).json()["items"]
        ids["itemId"] = items[0]["id"]
    async with world.client(f"full {_PROJECTS}") as client:
        projects = (await client.get(f"{ACCESS}/tasks/boards")).json()["boards"]
        project = made.project if made else projects[0]["id"]
        ids["projectId"] = project
        tasks = (await client.get(f"{ACCESS}/tasks/boards/{project}/items")).json()["items"]
        ids["taskId"] = tasks[0]["id"]
    return ids


Costs = dict[Row, dict[str, Measured]]

# Cells of a page by row title, then by profile: of the first page and of the second one.
Cells = dict[str, dict[str, tuple[str, str]]]


async def measure_all(*, volume: bool) -> Costs:
    """Return the costs of all rows, by profile."""
    logging.disable(logging.ERROR)
    costs: Costs = {}
    async with opened(volume=volume) as (world, made):
        ids = await find_ids(world, made)
        for row in ROWS:
            profiles = PROFILES if row.method == "GET" else PROFILES[:1]
            costs[row] = {profile: await measure(world, row, ids, profile) for profile in profiles}
    logging.disable(logging.NOTSET)
    return costs


def cells(costs: Costs) -> Cells:
    """Return the cells that show measured costs."""
    return {
        row.title: {
            profile: (_cell(measured.first), _cell(measured.second))
            for profile, measured in by_profile.items()
        }
        for row, by_profile in costs.items()
    }


def committed_cells(text: str, *, volume: bool) -> Cells:
    """Read the cells of the demo or of the volume accounts from a page."""
    read: Cells = {}
    first = 3 if volume else 1
    for line in text.splitlines():
        if not line.startswith("| `"):
            continue
        title, *columns = (part.strip() for part in line.strip("|").split(" | "))
        columns += [""] * (8 - len(columns))
        read[title.strip("`")] = {
            profile: (columns[first - 1 + 4 * number], columns[first + 4 * number])
            for number, profile in enumerate(PROFILES)
        }
    return read


def violations(demo: Cells, volume: Cells) -> list[str]:
    """Return the rows and profiles whose cells break a bound of the page."""
    broken: list[str] = []
    for title, by_profile in volume.items():
        for profile, (first, second) in by_profile.items():
            usual = demo[title].get(profile, ("", ""))
            growth = MOST_GROWTH * max(1, _requests(usual[0]))
            calls = max(_calls(cell) for cell in (first, second, *usual))
            requests = max(_requests(first), _requests(second))
            units = max(_units(first), _units(usual[0]))
            if calls > MOST_CALLS or requests > growth or units > MOST_UNITS:
                broken.append(f"{title} ({profile})")
    return broken


def _calls(cell: str) -> int:
    return int(cell.split(" ", maxsplit=1)[0]) if cell else 0


def _requests(cell: str) -> int:
    return int(cell.partition("(")[2].partition(")")[0]) if cell else 0


def _units(cell: str) -> int:
    return next((int(part.split()[0]) for part in cell.split(", ") if part.endswith(" u")), 0)


def page(demo: Cells, volume: Cells) -> str:
    """Write the page."""
    text = _HEAD
    surface = ""
    for row in ROWS:
        if row.path.split("/")[1] != surface:
            surface = row.path.split("/")[1]
            text += f"\n## {surface.title()}\n\n{_COLUMNS}"
        columns = [f"`{row.title}`"]
        for profile in PROFILES:
            for measured in (demo, volume):
                columns += measured.get(row.title, {}).get(profile, ("", ""))
        text += f"| {' | '.join(columns)} |\n"
    return text


def _cell(cost: Cost | None) -> str:
    if cost is None:
        return ""
    units = f", {cost.units} u" if cost.units else ""
    return f"{cost.calls} ({cost.parts}){units}, {-(-cost.bytes // 1024)} kB"


def main(arguments: Sequence[str]) -> int:
    """Write the page; return the exit status."""
    demo = cells(asyncio.run(measure_all(volume=False)))
    volume = (
        committed_cells(PAGE.read_text("utf-8"), volume=True)
        if "--demo" in arguments
        else cells(asyncio.run(measure_all(volume=True)))
    )
    PAGE.write_text(page(demo, volume), "utf-8")
    broken = violations(demo, volume)
    for row in broken:
        print(f"breaks a bound: {row}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
