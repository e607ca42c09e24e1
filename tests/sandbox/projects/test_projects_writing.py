"""Writes to the projects API: changes, stories and errors."""

import json
from string import Template

import pytest

from .conftest import BASE

FIELDS = "name,notes,assignee.name,due_on,due_at,completed,custom_fields.(name|display_value)"


async def test_task_is_created_in_its_section_with_its_fields(projects):
    sections = await projects.get(f"/projects/{projects.pavilion}/sections")
    priority, hours = projects.field("Priority"), projects.field("Hours")
    body = {
        "name": "Order the glass",
        "memberships": [{"project": projects.pavilion, "section": sections[3]["gid"]}],
        "assignee": "yuki@harbourlight-studio.example",
        "due_on": "2026-12-24",
        "notes": "From Lánjīng.",
        "custom_fields": {priority.id: priority.options[0].id, hours.id: 2.26},
    }
    answer = await projects.http.post(
        f"{BASE}/tasks", params={"opt_fields": FIELDS}, json={"data": body}
    )
    made = answer.json()["data"]

    assert answer.status_code == 201
    assert answer.headers["location"] == f"{BASE}/tasks/{made['gid']}"
    shown = {
        custom_field["name"]: custom_field["display_value"]
        for custom_field in made.pop("custom_fields")
    }
    assert (shown["Priority"], shown["Hours"], shown["Sheet"]) == ("High", "2.3", None)
    assert made == {
        "gid": made["gid"],
        "name": "Order the glass",
        "notes": "From Lánjīng.",
        "assignee": {"gid": made["assignee"]["gid"], "name": "Yuki Tanaka"},
        "due_on": "2026-12-24",
        "due_at": None,
        "completed": False,
    }
    tasks = await projects.get(f"/sections/{sections[3]['gid']}/tasks")
    assert tasks[-1]["gid"] == made["gid"]


async def test_update_changes_only_the_fields_of_the_body_and_adds_stories(projects):
    task = projects.store.project_tasks(projects.pavilion)[2]
    changed = await projects.send(
        "PUT",
        f"/tasks/{task.id}",
        completed=True,
        assignee="me",
        due_at="2026-11-30T23:30:00+01:00",
    )
    stories = await projects.get(f"/tasks/{task.id}/stories")

    assert changed["name"] == task.name
    assert changed["completed_at"] == changed["modified_at"] == "2026-11-20T08:00:00.000Z"
    assert changed["completed_by"]["name"] == "Nora Lindqvist"
    assert (changed["due_at"], changed["due_on"]) == ("2026-11-30T22:30:00.000Z", "2026-11-30")
    assert [story["resource_subtype"] for story in stories][-3:] == [
        *("assigned", "marked_complete", "due_date_changed")
    ]


async def test_null_clears_a_custom_field_and_others_are_unchanged(projects):
    task = projects.store.project_tasks(projects.pavilion)[1]
    sheet, reviewers = projects.field("Sheet"), projects.field("Reviewers")
    due, tags = projects.field("Hand-over"), projects.field("Disciplines")
    me = (await projects.get("/users/me"))["gid"]
    await projects.send(
        "PUT",
        f"/tasks/{task.id}",
        custom_fields={
            sheet.id: None,
            reviewers.id: [me],
            due.id: {"date_time": "2026-11-20T10:00:00Z"},
            tags.id: [tags.options[1].id, tags.options[0].id],
        },
    )
    shown = await projects.get(f"/tasks/{task.id}", opt_fields="custom_fields")
    results = {custom_field["name"]: custom_field for custom_field in shown["custom_fields"]}

    assert results["Sheet"]["text_value"] is None
    assert results["Reviewers"]["people_value"][0]["name"] == "Nora Lindqvist"
    assert results["Hand-over"]["date_value"] == {
        "date": "2026-11-20",
        "date_time": "2026-11-20T10:00:00.000Z",
    }
    assert results["Disciplines"]["display_value"] == "Structure, Fire"
    assert results["Client code"]["text_value"] == task.values[projects.field("Client code").id]


async def test_author_adds_changes_and_deletes_a_comment(projects):
    task = projects.store.project_tasks(projects.pavilion)[0]
    made = await projects.send("POST", f"/tasks/{task.id}/stories", 201, text="Tack! <3")
    edited = await projects.send(
        "PUT", f"/stories/{made['gid']}", html_text="<body>Thanks <b>all</b><br/>!</body>"
    )

    assert (made["type"], made["resource_subtype"]) == ("comment", "comment_added")
    assert (edited["text"], edited["is_edited"]) == ("Thanks all\n!", True)
    await projects.send("DELETE", f"/stories/{made['gid']}")
    assert (await projects.error("GET", f"/stories/{made['gid']}"))[0] == 404


async def test_deleting_a_task_deletes_its_subtasks(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    first = next(task for task in tasks if task["name"] == "Draw the entrance")
    below = await projects.get(f"/tasks/{first['gid']}/subtasks")

    assert await projects.send("DELETE", f"/tasks/{first['gid']}") == {}
    for task in (first, below[0]):
        assert (await projects.error("GET", f"/tasks/{task['gid']}"))[0] == 404


async def test_task_moves_between_sections_and_projects(projects):
    task = projects.store.project_tasks(projects.pavilion)[0]
    ferry = projects.facts.projects["Setouchi ferry pier 桟橋"]
    sections = await projects.get(f"/projects/{ferry}/sections")
    await projects.send("POST", f"/tasks/{task.id}/addProject", project=ferry)
    await projects.send("POST", f"/sections/{sections[1]['gid']}/addTask", task=task.id)
    await projects.send("POST", f"/tasks/{task.id}/removeProject", project=projects.pavilion)
    shown = await projects.get(f"/tasks/{task.id}", opt_fields="memberships.(project|section).name")

    assert [
        (membership["project"]["name"], membership["section"]["name"])
        for membership in shown["memberships"]
    ] == [("Setouchi ferry pier 桟橋", "済 Done")]


async def test_batch_runs_each_action_as_a_call(projects):
    task = projects.store.project_tasks(projects.pavilion)[0]
    actions = [
        {"method": "get", "relative_path": f"/tasks/{task.id}", "options": {"fields": ["name"]}},
        {"method": "post", "relative_path": f"/tasks/{task.id}/stories", "data": {"text": "x"}},
        {"method": "get", "relative_path": "/tasks/1"},
    ]
    results = await projects.send("POST", "/batch", actions=actions)

    assert [record["status_code"] for record in results] == [200, 201, 404]
    assert results[0]["body"] == {"data": {"gid": task.id, "name": task.name}}


# $task is a task of the big project, $Hours and the like a custom field of it.
PUT, POST = ("PUT", "/tasks/$task"), ("POST", "/tasks")
LOCKED = "You do not have permission to edit this custom field."
REJECTED = {
    "no place": (*POST, {"name": "x"}, "400 You should specify one of workspace, parent, projects"),
    "an unknown project": (*POST, {"projects": ["9"]}, "400 projects: [0]: Unknown object: 9"),
    "an unknown assignee": (
        *PUT,
        {"assignee": "a@b.c"},
        "400 assignee: Not a user in Organization: a@b.c",
    ),
    "a day that is none": (
        *PUT,
        {"due_on": "tomorrow"},
        "400 due_on: Date must be in ISO-8601 (yyyy-mm-dd) format, not: tomorrow",
    ),
    "two due dates": (
        *PUT,
        {"due_on": "2026-01-01", "due_at": "2026-01-01T00:00:00Z"},
        "400 You may only provide one of due_on or due_at!",
    ),
    "projects of a made task": (*PUT, {"projects": []}, "400 projects: Cannot write this property"),
    "an unknown field": (
        *PUT,
        {"custom_fields": {"5": "x"}},
        "400 Custom field with ID 5 is not on given object",
    ),
    "fields that are no object": (
        *PUT,
        {"custom_fields": 3},
        "400 custom_fields: Value is not a JSON object: 3",
    ),
    "a text for a number": (
        *PUT,
        {"name": "kept out", "custom_fields": {"$Hours": "many"}},
        "400 custom_fields: [$Hours]: Value is not a number: many",
    ),
    "an option of another field": (
        *PUT,
        {"custom_fields": {"$Priority": "1"}},
        "400 custom_fields: [$Priority]: Unknown object: 1",
    ),
    "a computed field": (
        *PUT,
        {"custom_fields": {"$Fee": 1}},
        "400 custom_fields: Custom field $Fee is read-only.",
    ),
    "a locked field": (*PUT, {"custom_fields": {"$Client": "x"}}, f"403 {LOCKED}"),
    "an empty comment": ("POST", "/tasks/$task/stories", {"text": ""}, "400 text: Missing input"),
    "a project without a team": (
        "POST",
        "/projects",
        {"name": "x"},
        "400 Missing required team field",
    ),
}


@pytest.mark.parametrize("row", REJECTED)
async def test_invalid_write_fails_with_the_apis_message_and_changes_nothing(projects, row):
    names = {field.name.split()[0]: field.id for field in projects.store.fields.all()}
    names["task"] = projects.store.project_tasks(projects.pavilion)[0].id
    text = Template(json.dumps(REJECTED[row])).substitute(names)
    method, path, data, refusal = json.loads(text)
    before = projects.store.tasks.all(), projects.store.stories.all()
    status, message = await projects.error(method, path, json={"data": data})

    assert f"{status} {message}" == refusal
    assert (projects.store.tasks.all(), projects.store.stories.all()) == before


async def test_body_must_be_json_wrapped_in_data(projects):
    stray = await projects.error("POST", "/tasks", json={"name": "x"})
    broken = await projects.error("POST", "/tasks", content=b"{")

    assert stray[0] == broken[0] == 400
    assert stray[1].startswith("Unrecognized request field name .")
    assert broken[1] == "Could not parse request data, invalid JSON"
