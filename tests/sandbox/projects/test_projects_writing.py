"""Writing to the project provider: what is kept, what is told, what is refused."""

import json
from string import Template

import pytest

from .conftest import BASE

FIELDS = "name,notes,assignee.name,due_on,due_at,completed,custom_fields.(name|display_value)"


async def test_a_task_is_made_where_it_is_asked_to_be(projects):
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


async def test_only_what_a_change_names_is_changed_and_it_is_told(projects):
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


async def test_custom_fields_are_cleared_by_null_and_kept_otherwise(projects):
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
    found = {custom_field["name"]: custom_field for custom_field in shown["custom_fields"]}

    assert found["Sheet"]["text_value"] is None
    assert found["Reviewers"]["people_value"][0]["name"] == "Nora Lindqvist"
    assert found["Hand-over"]["date_value"] == {
        "date": "2026-11-20",
        "date_time": "2026-11-20T10:00:00.000Z",
    }
    assert found["Disciplines"]["display_value"] == "Structure, Fire"
    assert found["Client code"]["text_value"] == task.values[projects.field("Client code").id]


async def test_a_comment_is_added_changed_and_deleted_by_its_writer(projects):
    task = projects.store.project_tasks(projects.pavilion)[0]
    made = await projects.send("POST", f"/tasks/{task.id}/stories", 201, text="Tack! <3")
    edited = await projects.send(
        "PUT", f"/stories/{made['gid']}", html_text="<body>Thanks <b>all</b><br/>!</body>"
    )

    assert (made["type"], made["resource_subtype"]) == ("comment", "comment_added")
    assert (edited["text"], edited["is_edited"]) == ("Thanks all\n!", True)
    await projects.send("DELETE", f"/stories/{made['gid']}")
    assert (await projects.refusal("GET", f"/stories/{made['gid']}"))[0] == 404


async def test_a_deleted_task_is_gone_with_what_is_below_it(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    first = next(task for task in tasks if task["name"] == "Draw the entrance")
    below = await projects.get(f"/tasks/{first['gid']}/subtasks")

    assert await projects.send("DELETE", f"/tasks/{first['gid']}") == {}
    for one in (first, below[0]):
        assert (await projects.refusal("GET", f"/tasks/{one['gid']}"))[0] == 404


async def test_a_task_moves_between_sections_and_projects_by_their_own_calls(projects):
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


async def test_a_batch_runs_its_actions_as_calls_of_their_own(projects):
    task = projects.store.project_tasks(projects.pavilion)[0]
    actions = [
        {"method": "get", "relative_path": f"/tasks/{task.id}", "options": {"fields": ["name"]}},
        {"method": "post", "relative_path": f"/tasks/{task.id}/stories", "data": {"text": "x"}},
        {"method": "get", "relative_path": "/tasks/1"},
    ]
    found = await projects.send("POST", "/batch", actions=actions)

    assert [one["status_code"] for one in found] == [200, 201, 404]
    assert found[0]["body"] == {"data": {"gid": task.id, "name": task.name}}


# $task is a task of the big project, $Hours and the like a custom field of it.
PUT, POST = ("PUT", "/tasks/$task"), ("POST", "/tasks")
LOCKED = "You do not have permission to edit this custom field."
REFUSED = {
    "no place": (
        *POST,
        {"name": "x"},
        "400 You should specify one of workspace, parent, projects",
    ),
    "an unknown project": (
        *POST,
        {"projects": ["9"]},
        "400 projects: [0]: Unknown object: 9",
    ),
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
    "projects of a made task": (
        *PUT,
        {"projects": []},
        "400 projects: Cannot write this property",
    ),
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
    "an empty comment": (
        "POST",
        "/tasks/$task/stories",
        {"text": ""},
        "400 text: Missing input",
    ),
    "a project without a team": (
        "POST",
        "/projects",
        {"name": "x"},
        "400 Missing required team field",
    ),
}


@pytest.mark.parametrize("row", REFUSED)
async def test_a_write_is_refused_in_the_wires_words_and_changes_nothing(projects, row):
    names = {field.name.split()[0]: field.id for field in projects.store.fields.all()}
    names["task"] = projects.store.project_tasks(projects.pavilion)[0].id
    text = Template(json.dumps(REFUSED[row])).substitute(names)
    method, path, data, refusal = json.loads(text)
    before = projects.store.tasks.all(), projects.store.stories.all()
    status, message = await projects.refusal(method, path, json={"data": data})

    assert f"{status} {message}" == refusal
    assert (projects.store.tasks.all(), projects.store.stories.all()) == before


async def test_a_body_is_wrapped_in_data_and_is_json(projects):
    stray = await projects.refusal("POST", "/tasks", json={"name": "x"})
    broken = await projects.refusal("POST", "/tasks", content=b"{")

    assert stray[0] == broken[0] == 400
    assert stray[1].startswith("Unrecognized request field name .")
    assert broken[1] == "Could not parse request data, invalid JSON"
