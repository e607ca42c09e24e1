"""
`docs/reference/upstream-cost.md`: the upstream calls of every REST row, small and large accounts.

    python docs/generators/upstream_cost.py [--volume]

A test holds the committed page to what this makes.
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
_HEAD = """# Upstream cost

What one REST call costs upstream. A script, `docs/generators/upstream_cost.py`, measures it with a
gateway that has read nothing before, on the accounts of the demo. With `--volume` it prints the
same for [volume accounts](../spec/sandbox.md#volume-accounts), which takes long; these columns are
empty here. The masked columns are those of the demo's token `masked`.

A cell is `calls (requests), units, size`: HTTP calls; requests, with the parts of batches counted
one by one; quota units of Gmail or resource units of SharePoint (`u`), where there are some; and
the size of the providers' answers. Calls of several providers are added up. An empty cell: there is
no such page. Calls for access tokens are not counted.
"""
_COLUMNS = (
    "| Call | Demo, page 1 | page 2 | Volume, page 1 | page 2 | Demo masked, page 1 | page 2 "
    "| Volume masked, page 1 | page 2 |\n|---|---|---|---|---|---|---|---|---|\n"
)
_GROWING = """These cost more than 30 calls, or over twice as many as in the demo. A
search of a calendar reads its whole range, in pages of 1,000 or 2,500 events, up to 10,000 of them;
a list that the provider cannot order is sorted by the gateway, up to 20,000 rows.
"""


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
        following = _following(answer)
        second = None
        if row.method == "GET" and following:
            world.forget()
            again = await client.get(path, params={**query, **following})
            second = world.cost() if again.status_code == 200 else None
    return Measured(first=first, second=second, status=answer.status_code)


def _following(answer: httpx.Response) -> dict[str, str]:
    """Return the parameter of the next page; empty on the last one."""
    if answer.status_code != 200:
        return {}
    body = answer.json()
    if not isinstance(body, dict):
        return {}
    if body.get("nextPageToken"):
        return {"pageToken": body["nextPageToken"]}
    meta = body.get("meta") or {}
    if meta.get("hasMore"):
        return {"offset": str(meta["offset"] + meta["count"])}
    if body.get("moreResultsAvailable"):
        return {"from": str(body["from"] + len(body["hits"]))}
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


async def measure_all(*, volume: bool) -> Costs:
    """Return the costs of all rows, by profile."""
    logging.disable(logging.ERROR)
    costs: Costs = {}
    async with opened(volume=volume) as (world, made):
        ids = await find_ids(world, made)
        for row in ROWS:
            if volume and row.path.startswith("/email/"):
                continue  # there are no mailboxes of that size
            profiles = PROFILES if row.method == "GET" else PROFILES[:1]
            costs[row] = {profile: await measure(world, row, ids, profile) for profile in profiles}
    logging.disable(logging.NOTSET)
    return costs


def growing(demo: Costs, volume: Costs) -> list[str]:
    """Return the rows that cost over 30 calls, or over twice as many as in the demo."""
    return [
        row.title
        for row in volume
        if any(
            page is not None
            and (page.calls > MOST_CALLS or page.calls > 2 * max(1, demo[row][profile].first.calls))
            for profile, measured in volume[row].items()
            for page in (measured.first, measured.second)
        )
    ]


def page(demo: Costs, volume: Costs) -> str:
    """Write the page."""
    text = _HEAD
    surface = ""
    for row in ROWS:
        if row.path.split("/")[1] != surface:
            surface = row.path.split("/")[1]
            text += f"\n## {surface.title()}\n\n{_COLUMNS}"
        cells = [f"`{row.title}`"]
        for profile in PROFILES:
            for costs in (demo, volume):
                measured = costs.get(row, {}).get(profile)
                cells += [_cell(measured and measured.first), _cell(measured and measured.second)]
        text += f"| {' | '.join(cells)} |\n"
    if not volume:
        return text
    rows = "".join(f"- `{title}`\n" for title in growing(demo, volume))
    return f"{text}\n## Rows whose calls grow\n\n{_GROWING}\n{rows}"


def _cell(cost: Cost | None) -> str:
    if cost is None:
        return ""
    units = f", {cost.units} u" if cost.units else ""
    return f"{cost.calls} ({cost.parts}){units}, {-(-cost.bytes // 1024)} kB"


def main(arguments: Sequence[str]) -> None:
    """Write the page; with ``--volume`` print one with the volume accounts, which takes long."""
    demo = asyncio.run(measure_all(volume=False))
    if "--volume" in arguments:
        print(page(demo, asyncio.run(measure_all(volume=True))))
    else:
        PAGE.write_text(page(demo, {}), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
