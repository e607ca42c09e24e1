"""Reads of the projects API: lists, pages, requested fields and errors."""

import pytest

from .conftest import BASE

TASK_FIELDS = "name,due_on,completed,assignee.name,memberships.section.name,tags.name"


async def test_user_and_workspace_are_returned(projects):
    me = await projects.get("/users/me")
    by_address = await projects.get("/users/nora@harbourlight-studio.example")
    (space,) = await projects.get("/workspaces")

    assert me == by_address
    assert (me["name"], me["email"]) == ("Nora Lindqvist", "nora@harbourlight-studio.example")
    assert space == {
        "gid": projects.facts.workspace,
        "resource_type": "workspace",
        "name": "Harbourlight Studio",
    }


async def test_project_list_omits_private_projects_of_others(projects):
    space = projects.facts.workspace
    every = await projects.get("/projects", workspace=space)
    open_tasks = await projects.get(f"/workspaces/{space}/projects", archived="false")

    assert [record["name"] for record in every] == [
        "Corniche pavilion",
        "Setouchi ferry pier 桟橋",
        "Kinvara clubhouse",
        "Ideas & leftovers 💡",
    ]
    assert every[0] == {
        "gid": projects.pavilion,
        "resource_type": "project",
        "name": "Corniche pavilion",
    }
    assert "Kinvara clubhouse" not in [task["name"] for task in open_tasks]


async def test_single_project_is_complete(projects):
    found = await projects.get(f"/projects/{projects.pavilion}")

    assert (found["notes"], found["archived"], found["public"]) == (
        "Open hall at the water.\nLayla wants shade at noon.",
        False,
        True,
    )
    assert found["team"]["name"] == "Architecture"
    assert "html_notes" not in found
    assert len(found["custom_field_settings"]) == 10


async def test_sections_and_tasks_are_in_order(projects):
    sections = await projects.get(f"/projects/{projects.pavilion}/sections")
    tasks = await projects.get(f"/sections/{sections[2]['gid']}/tasks")

    assert [section["name"] for section in sections] == [
        *("Untitled section", "Brief", "Sketch design", "Permit", "Details", "Tender")
    ]
    assert [task["name"] for task in tasks][:3] == [
        *("Check the entrance", "Check the stair", "Check the kitchen")
    ]


async def test_pages_contain_every_task_once_and_link_the_next_page(projects):
    path = f"/projects/{projects.pavilion}/tasks"
    whole = [project["gid"] for project in await projects.get(path)]
    found, query = [], {"limit": "17"}
    while True:
        page = (await projects.http.get(f"{BASE}{path}", params=query)).json()
        found += [record["gid"] for record in page["data"]]
        if page["next_page"] is None:
            break
        query["offset"] = page["next_page"]["offset"]
        last = page["next_page"]

    assert len(whole) == 68
    assert found == whole
    assert last["uri"] == f"{BASE}{last['path']}"
    assert (await projects.http.get(last["uri"])).json()["data"]


async def test_list_without_a_limit_has_no_next_page(projects):
    answer = await projects.http.get(f"{BASE}/projects/{projects.pavilion}/tasks")

    assert answer.json().keys() == {"data"}
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"


async def test_offset_survives_a_deleted_task_and_expires_after_an_hour(projects):
    path = f"{BASE}/projects/{projects.pavilion}/tasks"
    page = (await projects.http.get(path, params={"limit": "5"})).json()
    offset = page["next_page"]["offset"]
    await projects.send("DELETE", f"/tasks/{page['data'][0]['gid']}")
    second = (await projects.http.get(path, params={"limit": "5", "offset": offset})).json()
    assert not {record["gid"] for record in page["data"]} & {
        record["gid"] for record in second["data"]
    }

    projects.clock[0] += 3_601
    late = f"{path}?limit=5&offset={offset}".removeprefix(BASE)
    status, message = await projects.error("GET", late)
    assert (status, message) == (400, "offset: Your pagination token has expired.")


async def test_only_requested_fields_are_returned(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields=TASK_FIELDS)
    task = next(record for record in tasks if record["name"] == "Draw the kitchen")

    assert task == {
        "gid": task["gid"],
        "name": "Draw the kitchen",
        "due_on": "2026-09-30",
        "completed": False,
        "assignee": {"gid": task["assignee"]["gid"], "name": "Matteo Bellini"},
        "memberships": [
            {"section": {"gid": task["memberships"][0]["section"]["gid"], "name": "Brief"}}
        ],
        "tags": [
            {"gid": task["tags"][0]["gid"], "name": "水"},
            {"gid": task["tags"][1]["gid"], "name": "Wettbewerb"},
        ],
    }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("name", {"gid", "name"}),
        ("this.name,notes", {"gid", "name", "notes"}),
        ("(name|notes)", {"gid", "name", "notes"}),
        ("nothing_known", {"gid"}),
        ("resource_type,gid", {"gid", "resource_type"}),
        ("assignee.(name|email)", {"gid", "assignee"}),
    ],
)
async def test_field_paths_may_be_grouped_and_unknown_fields_are_omitted(projects, asked, expected):
    (first, *_) = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields=asked)

    assert first.keys() == expected


async def test_requested_record_without_fields_has_id_and_type(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields="assignee")
    shown = [task["assignee"] for task in tasks if task["assignee"]]

    assert {tuple(record) for record in shown} == {("gid", "resource_type")}


async def test_custom_fields_have_a_value_of_their_type(projects):
    tasks = await projects.get(
        f"/projects/{projects.pavilion}/tasks", opt_fields="name,custom_fields"
    )
    task = next(record for record in tasks if record["name"] == "Price the lighting")
    shown = {custom_field["name"]: custom_field for custom_field in task["custom_fields"]}

    assert shown["Priority"]["enum_value"]["name"] == "Medium"
    assert [enum_option["name"] for enum_option in shown["Priority"]["enum_options"]] == [
        "High",
        "Medium",
        "Low",
    ]
    assert shown["Sheet"]["text_value"] == "A-034 «2»"
    assert shown["Hours"]["number_value"] == 51.0
    assert (shown["Hours"]["display_value"], shown["Hours"]["precision"]) == ("51.0", 1)
    assert (shown["Fee"]["number_value"], shown["Fee"]["is_value_read_only"]) == (4857.75, True)
    assert shown["Reviewers"]["people_value"] == []
    assert shown["Hand-over"]["date_value"] is None
    assert shown["Hand-over"]["display_value"] is None
    assert "text_value" in shown["Hours"]


async def test_stories_include_comments_and_are_oldest_first(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    fifth = next(task for task in tasks if task["name"] == "Draw the roof")
    stories = await projects.get(f"/tasks/{fifth['gid']}/stories")

    assert (stories[0]["type"], stories[0]["text"]) == ("system", "added to Corniche pavilion")
    assert len([story for story in stories if story["type"] == "comment"]) == 27
    assert [story["created_at"] for story in stories] == sorted(
        story["created_at"] for story in stories
    )


async def test_subtasks_are_listed_only_under_their_parent(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    first = next(task for task in tasks if task["name"] == "Draw the entrance")
    below = await projects.get(f"/tasks/{first['gid']}/subtasks", opt_fields="name,parent.name")

    assert [record["name"] for record in below] == [
        "Measure",
        "Ask Amara",
        "Draw",
        "Have it checked",
    ]
    assert below[0]["parent"]["name"] == "Draw the entrance"
    assert not {record["gid"] for record in below} & {task["gid"] for task in tasks}


async def test_tasks_are_found_by_a_filter_and_by_search(projects):
    space = projects.facts.workspace
    mine = await projects.get("/tasks", assignee="me", workspace=space)
    open_tasks = await projects.get(
        "/tasks", project=projects.pavilion, completed_since="now", opt_fields="completed"
    )
    found = await projects.get(f"/workspaces/{space}/tasks/search", text="SAUNA")

    assert len(mine) == 11
    assert not any(task["completed"] for task in open_tasks)
    assert len(open_tasks) == 53
    assert len(found) == 5


REJECTED = {
    "an unknown route": ("/nonsense", 404, "No matching route for request"),
    "an unknown task": ("/tasks/1", 404, "task: Unknown object: 1"),
    "an id that is none": ("/tasks/abc", 400, "task: Not a recognized ID: abc"),
    "no filter": (
        "/tasks",
        400,
        "Must specify exactly one of project, tag, section, user task list, or assignee +"
        " workspace",
    ),
    "an unknown project as a filter": ("/tasks?project=7", 400, "project: Unknown object: 7"),
    "an offset of another's": (
        "/users?limit=2&offset=eyJ4IjoxfQ",
        400,
        "offset: Your pagination token is invalid.",
    ),
    "an empty offset": ("/users?limit=2&offset=", 400, "offset: Your pagination token is invalid."),
    "a limit beyond the most": ("/users?limit=101", 400, "limit: Must be between 1 and 100"),
}


@pytest.mark.parametrize("row", REJECTED)
async def test_invalid_call_fails_with_the_apis_message(projects, row):
    path, status, message = REJECTED[row]

    assert await projects.error("GET", path) == (status, message)


async def test_private_records_of_others_are_forbidden(projects):
    hidden = projects.facts.projects["Partners only"]
    task = projects.store.project_tasks(hidden)[0]

    assert await projects.error("GET", f"/projects/{hidden}") == (
        403,
        "You do not have access to this project.",
    )
    assert await projects.error("GET", f"/tasks/{task.id}") == (
        403,
        "You do not have access to this task.",
    )


async def test_search_on_the_free_plan_is_402(projects):
    projects.store.set_free(free=True)
    path = f"/workspaces/{projects.facts.workspace}/tasks/search"

    assert await projects.error("GET", path) == (402, "Search is only available to premium users.")


async def test_token_reaches_only_what_its_scopes_allow(projects):
    reader = projects.issue("projects:read")
    space = projects.facts.workspace

    seen = await projects.http.get(f"{BASE}/projects?workspace={space}", headers=reader)
    assert seen.status_code == 200
    refused = await projects.http.get(f"{BASE}/users/me", headers=reader)
    assert refused.status_code == 403
    unknown = await projects.http.get(f"{BASE}/users/me", headers={"authorization": "Bearer x"})
    assert (unknown.status_code, unknown.json()["errors"][0]["message"]) == (401, "Not Authorized")


async def test_faults_have_the_apis_format_and_calls_are_logged(projects):
    control = "http://sandbox.test/faults/projects"
    fault = {"kind": "429", "count": 1, "retryAfter": 30}
    assert (await projects.http.put(control, json=fault)).status_code == 200
    throttled = await projects.http.get(f"{BASE}/users/me")
    calls = (await projects.http.get("http://sandbox.test/calls/projects")).json()["calls"]

    assert (throttled.status_code, throttled.headers["retry-after"]) == (429, "30")
    assert throttled.json()["errors"][0]["message"].startswith("You've made too many requests")
    assert [(call["path"], call["fault"]) for call in calls] == [("/api/1.0/users/me", "429")]


async def test_fields_without_their_scope_are_left_out(projects):
    scopes = ("projects:read", "tasks:read")
    project = projects.pavilion
    fields = "team.name,memberships.section.name,memberships.project.name"
    for scope, name in (("teams:read", "team"), ("project_sections:read", "section")):
        shown = []
        for granted in (scopes, (*scopes, scope)):
            header = projects.issue(*granted)
            texts = [
                (await projects.http.get(f"{BASE}/{path}?opt_fields={fields}", headers=header)).text
                for path in (f"projects/{project}", f"projects/{project}/tasks")
            ]
            shown.append(any(f'"{name}":' in text for text in texts))
        assert shown == [False, True]


async def test_sections_have_a_scope_of_their_own(projects):
    path = f"{BASE}/projects/{projects.pavilion}/sections"
    refused = await projects.http.get(path, headers=projects.issue("projects:read"))
    served = await projects.http.get(path, headers=projects.issue("project_sections:read"))

    assert (refused.status_code, served.status_code) == (403, 200)
