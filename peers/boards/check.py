"""
Check the sandbox's monday.com boards with two unchanged clients over a socket: the third-party
Python client (BSD) in this process, and the vendor's Node client (MIT) in ``check.cjs`` if Node is
installed.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import monday.resources.base
import urllib3
from monday import MondayClient
from monday.exceptions import MondayQueryError
from monday.resources.types import BoardKind, BoardsOrderBy, BoardState, ColumnType
from serving import served

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / ".peers" / HERE.name


def main() -> None:
    with served(HERE / "seed.py") as facts:
        endpoint = f"{facts['url']}/tasks/v2"
        monday.resources.base._URLS.update(prod=endpoint, file=f"{endpoint}/file")
        client = MondayClient(facts["token"])
        reading(client, facts["boards"])
        writing(client, facts["boards"]["Boat orders"])
        structure(client)
        refusals(client, facts)
        print("the Python client agrees")
        vendors(endpoint, facts)


def reading(client, boards) -> None:
    listed = client.boards.fetch_boards(
        limit=3, page=1, state=BoardState.ACTIVE, order_by=BoardsOrderBy.CREATED_AT
    )["data"]["boards"]
    assert len(listed) == 3, listed
    archived = client.boards.fetch_boards(state=BoardState.ARCHIVED)["data"]["boards"]
    assert [entry["name"] for entry in archived] == ["Winter storage (closed)"]

    big = boards["Boat orders"]
    (board,) = client.boards.fetch_boards_by_id(big)["data"]["boards"]
    assert [entry["title"] for entry in board["groups"]] == [
        *("On the slip", "In the shed", "Afloat again", "Väntelista / 待ち")
    ]
    columns = {column["id"]: column for column in board["columns"]}
    labels = json.loads(columns["status"]["settings_str"])["labels"]
    assert labels["1"] == "Done", labels
    (same,) = client.boards.fetch_columns_by_board_id(big)["data"]["boards"]
    assert {column["id"] for column in same["columns"]} == columns.keys()

    # fetch_all pages with cursors of next_items_page.
    every = client.boards.fetch_all_items_by_board_id(big, limit=20)
    ids = [entry["id"] for entry in every]
    assert len(ids) == len(set(ids)) == 75, len(ids)
    page = client.boards.fetch_items_by_board_id(big, limit=10)["data"]["boards"][0]["items_page"]
    assert [entry["id"] for entry in page["items"]] == ids[:10]
    following = client.boards.fetch_next_items_by_cursor(page["cursor"], limit=5)
    assert [entry["id"] for entry in following["data"]["next_items_page"]["items"]] == ids[10:15]

    group = client.groups.get_items_by_group(big, "slip", limit=500)["data"]["boards"][0]
    assert len(group["groups"][0]["items_page"]["items"]) == 17
    found = client.items.fetch_items_by_column_value(big, "status", "Done", limit=100)
    done = found["data"]["items_page_by_column_values"]["items"]
    assert done, found
    for item in done:
        assert {value["id"]: value["text"] for value in item["column_values"]}["status"] == "Done"

    users = client.users.fetch_users(limit=50)["data"]["users"]
    assert {user["email"] for user in users} >= {"jonas@harbourlight.example"}
    assert client.me.get_details()["data"]["me"]["name"] == "Nora Lindqvist"
    assert len(client.tags.fetch_tags()["data"]["tags"]) == 5
    assert len(client.workspaces.get_workspaces()["data"]["workspaces"]) == 2
    assert client.complexity.get_complexity()["data"]["complexity"]["after"] > 0
    assert len(client.updates.fetch_updates(limit=12)["data"]["updates"]) == 12


def writing(client, board) -> None:
    name = 'Quote " and backslash \\ – ö'
    values = {"status": {"label": "Stuck"}, "numbers": "12.5", "text": "HL-1"}
    made = client.items.create_item(board, "shed", name, values)["data"]["create_item"]
    (item,) = client.items.fetch_items_by_id([int(made["id"])])["data"]["items"]
    texts = {value["id"]: value["text"] for value in item["column_values"]}
    assert (item["name"], texts["status"], texts["numbers"]) == (name, "Stuck", "12.5")

    client.items.change_item_value(board, made["id"], "date4", {"date": "2026-12-24"})
    several = {"check": {"checked": "true"}, "email": {"email": "a@b.example", "text": "A"}}
    client.items.change_multiple_column_values(board, made["id"], several)
    made_label = {"dropdown": {"labels": ["Brand new"]}}
    client.items.change_multiple_column_values(board, made["id"], made_label, True)
    (item,) = client.items.fetch_items_by_id([int(made["id"])])["data"]["items"]
    texts = {value["id"]: value["text"] for value in item["column_values"]}
    assert [texts[entry] for entry in ("date4", "check", "email", "dropdown")] == [
        *("2026-12-24", "v", "A", "Brand new")
    ]

    several = [
        {"method": "create_item", "board_id": int(board), "item_name": f"Batch {n}"}
        for n in range(3)
    ]
    batch = client.items.mutate_multiple_items(several)["data"]
    assert [batch[f"item{n}"]["name"] for n in range(3)] == ["Batch 0", "Batch 1", "Batch 2"]

    below = client.items.create_subitem(made["id"], "Below")["data"]["create_subitem"]
    assert below["name"] == "Below"
    update = client.updates.create_update(made["id"], 'Said "so"')["data"]["create_update"]
    shown = client.updates.fetch_updates_for_item(made["id"])["data"]["items"][0]["updates"]
    assert [(entry["id"], entry["body"]) for entry in shown] == [(update["id"], 'Said "so"')]
    client.updates.delete_update(update["id"])

    client.items.move_item_to_group(made["id"], "slip")
    client.items.archive_item_by_id(batch["item0"]["id"])
    client.items.delete_item_by_id(made["id"])
    left = {entry["id"] for entry in client.boards.fetch_all_items_by_board_id(board)}
    assert not left & {made["id"], batch["item0"]["id"]}


def structure(client) -> None:
    made = client.boards.create_board("Made by a client", BoardKind.PUBLIC)
    board = made["data"]["create_board"]["id"]
    group = client.groups.create_group(board, "Second")["data"]["create_group"]["id"]
    labels = {"labels": {"1": "Here", "2": "There"}}
    column = client.columns.create_column(board, "Where", ColumnType.STATUS, labels)
    where = column["data"]["create_column"]["id"]
    item = client.items.create_item(board, group, "One", {where: {"label": "There"}})
    assert item["data"]["create_item"]["id"]
    assert client.groups.archive_group(board, group)["data"]["archive_group"]["archived"]
    tag = client.tags.create_or_get_tag("fresh")["data"]["create_or_get_tag"]["id"]
    assert client.tags.create_or_get_tag("FRESH")["data"]["create_or_get_tag"]["id"] == tag


def refusals(client, facts) -> None:
    board = facts["boards"]["Boat orders"]
    refused(lambda: client.items.create_item(board, "nowhere", "x"), "Group not found")
    unknown = {"status": {"label": "Nope"}}
    refused(lambda: client.items.create_item(board, "slip", "x", unknown), "label doesn't exist")
    refused(lambda: client.items.create_item(board, "slip", "x" * 256), "too long")
    refused(lambda: client.items.delete_item_by_id(1), "does not exist")
    refused(lambda: client.custom.execute_custom_query("{nonsense}"), "Cannot query field")
    reader = MondayClient(facts["reader"])
    refused(lambda: reader.items.create_item(board, "slip", "x"), "required permissions")
    try:
        MondayClient("nonsense").me.get_details()
    except urllib3.exceptions.HTTPError as problem:
        assert "401" in str(problem), problem
    else:
        raise AssertionError("a wrong token was taken")


def refused(call, part) -> None:
    try:
        call()
    except MondayQueryError as problem:
        assert part in str(problem.args[0]), problem.args
    else:
        raise AssertionError(f"not refused: {part}")


def vendors(endpoint, facts) -> None:
    node = shutil.which("node")
    if node is None or not (ENVIRONMENT / "node_modules").is_dir():
        print("no Node here: the vendor's client is not driven")
        return
    environment = {**os.environ, "NODE_PATH": str(ENVIRONMENT / "node_modules")}
    arguments = json.dumps({"endpoint": endpoint, **facts})
    done = subprocess.run([node, str(HERE / "check.cjs"), arguments], env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
