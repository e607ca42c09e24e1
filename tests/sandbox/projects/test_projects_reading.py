"""Reading the project provider: listings, pages, fields, and what is refused."""

import pytest

from .conftest import BASE

TASK_FIELDS = "name,due_on,completed,assignee.name,memberships.section.name,tags.name"


async def test_the_user_and_the_workspace_are_found(projects):
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


async def test_projects_are_listed_without_what_is_private_to_others(projects):
    space = projects.facts.workspace
    every = await projects.get("/projects", workspace=space)
    open_tasks = await projects.get(f"/workspaces/{space}/projects", archived="false")

    assert [one["name"] for one in every] == [
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


async def test_a_project_alone_is_shown_whole(projects):
    found = await projects.get(f"/projects/{projects.pavilion}")

    assert (found["notes"], found["archived"], found["public"]) == (
        "Open hall at the water.\nLayla wants shade at noon.",
        False,
        True,
    )
    assert found["team"]["name"] == "Architecture"
    assert "html_notes" not in found
    assert len(found["custom_field_settings"]) == 10


async def test_sections_and_their_tasks_come_in_their_order(projects):
    sections = await projects.get(f"/projects/{projects.pavilion}/sections")
    tasks = await projects.get(f"/sections/{sections[2]['gid']}/tasks")

    assert [section["name"] for section in sections] == [
        *("Untitled section", "Brief", "Sketch design", "Permit", "Details", "Tender")
    ]
    assert [task["name"] for task in tasks][:3] == [
        *("Check the entrance", "Check the stair", "Check the kitchen")
    ]


async def test_pages_cover_a_listing_once_and_name_the_next(projects):
    path = f"/projects/{projects.pavilion}/tasks"
    whole = [project["gid"] for project in await projects.get(path)]
    found, query = [], {"limit": "17"}
    while True:
        page = (await projects.http.get(f"{BASE}{path}", params=query)).json()
        found += [one["gid"] for one in page["data"]]
        if page["next_page"] is None:
            break
        query["offset"] = page["next_page"]["offset"]
        last = page["next_page"]

    assert len(whole) == 68
    assert found == whole
    assert last["uri"] == f"{BASE}{last['path']}"
    assert (await projects.http.get(last["uri"])).json()["data"]


async def test_a_listing_without_a_limit_names_no_next_page(projects):
    answer = await projects.http.get(f"{BASE}/projects/{projects.pavilion}/tasks")

    assert answer.json().keys() == {"data"}
    assert answer.headers["content-type"] == "application/json; charset=UTF-8"


async def test_an_offset_survives_a_deleted_task_and_ends_after_an_hour(projects):
    path = f"{BASE}/projects/{projects.pavilion}/tasks"
    page = (await projects.http.get(path, params={"limit": "5"})).json()
    offset = page["next_page"]["offset"]
    await projects.send("DELETE", f"/tasks/{page['data'][0]['gid']}")
    second = (await projects.http.get(path, params={"limit": "5", "offset": offset})).json()
    assert not {one["gid"] for one in page["data"]} & {one["gid"] for one in second["data"]}

    projects.clock[0] += 3_601
    late = f"{path}?limit=5&offset={offset}".removeprefix(BASE)
    status, message = await projects.refusal("GET", late)
    assert (status, message) == (400, "offset: Your pagination token has expired.")


async def test_only_the_fields_that_are_asked_for_are_shown(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields=TASK_FIELDS)
    task = next(one for one in tasks if one["name"] == "Draw the kitchen")

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
async def test_field_paths_may_be_grouped_and_unknown_ones_are_left_out(projects, asked, expected):
    (first, *_) = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields=asked)

    assert first.keys() == expected


async def test_a_named_record_without_its_fields_is_id_and_type(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks", opt_fields="assignee")
    shown = [task["assignee"] for task in tasks if task["assignee"]]

    assert {tuple(one) for one in shown} == {("gid", "resource_type")}


async def test_custom_fields_carry_a_value_of_their_type(projects):
    tasks = await projects.get(
        f"/projects/{projects.pavilion}/tasks", opt_fields="name,custom_fields"
    )
    task = next(one for one in tasks if one["name"] == "Price the lighting")
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


async def test_stories_are_told_oldest_first_with_comments_among_them(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    fifth = next(task for task in tasks if task["name"] == "Draw the roof")
    stories = await projects.get(f"/tasks/{fifth['gid']}/stories")

    assert (stories[0]["type"], stories[0]["text"]) == ("system", "added to Corniche pavilion")
    assert len([story for story in stories if story["type"] == "comment"]) == 27
    assert [story["created_at"] for story in stories] == sorted(
        story["created_at"] for story in stories
    )


async def test_sub_tasks_are_listed_below_their_task_alone(projects):
    tasks = await projects.get(f"/projects/{projects.pavilion}/tasks")
    first = next(task for task in tasks if task["name"] == "Draw the entrance")
    below = await projects.get(f"/tasks/{first['gid']}/subtasks", opt_fields="name,parent.name")

    assert [one["name"] for one in below] == ["Measure", "Ask Amara", "Draw", "Have it checked"]
    assert below[0]["parent"]["name"] == "Draw the entrance"
    assert not {one["gid"] for one in below} & {task["gid"] for task in tasks}


async def test_tasks_are_found_by_one_filter_and_by_search(projects):
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


REFUSED = {
    "an unknown route": ("/nonsense", 404, "No matching route for request"),
    "an unknown task": ("/tasks/1", 404, "task: Unknown object: 1"),
    "an id that is none": ("/tasks/abc", 400, "task: Not a recognized ID: abc"),
    "no filter": (
        "/tasks",
        400,
        "Must specify exactly one of project, tag, section, user task list, or assignee +"
        " workspace",
    ),
    "an unknown project as a filter": (
        "/tasks?project=7",
        400,
        "project: Unknown object: 7",
    ),
    "an offset of another's": (
        "/users?limit=2&offset=eyJ4IjoxfQ",
        400,
        "offset: Your pagination token is invalid.",
    ),
    "an empty offset": ("/users?limit=2&offset=", 400, "offset: Your pagination token is invalid."),
    "a limit beyond the most": ("/users?limit=101", 400, "limit: Must be between 1 and 100"),
}


@pytest.mark.parametrize("row", REFUSED)
async def test_a_call_is_refused_in_the_wires_words(projects, row):
    path, status, message = REFUSED[row]

    assert await projects.refusal("GET", path) == (status, message)


async def test_what_is_private_to_others_is_refused(projects):
    hidden = projects.facts.projects["Partners only"]
    task = projects.store.project_tasks(hidden)[0]

    assert await projects.refusal("GET", f"/projects/{hidden}") == (
        403,
        "You do not have access to this project.",
    )
    assert await projects.refusal("GET", f"/tasks/{task.id}") == (
        403,
        "You do not have access to this task.",
    )


async def test_the_free_plan_is_asked_to_pay(projects):
    projects.store.set_free(free=True)
    path = f"/workspaces/{projects.facts.workspace}/tasks/search"

    assert await projects.refusal("GET", path) == (
        402,
        "Search is only available to premium users.",
    )


async def test_a_token_reaches_what_its_scopes_allow(projects):
    reader = projects.issue("projects:read")
    space = projects.facts.workspace

    seen = await projects.http.get(f"{BASE}/projects?workspace={space}", headers=reader)
    assert seen.status_code == 200
    refused = await projects.http.get(f"{BASE}/users/me", headers=reader)
    assert refused.status_code == 403
    unknown = await projects.http.get(f"{BASE}/users/me", headers={"authorization": "Bearer x"})
    assert (unknown.status_code, unknown.json()["errors"][0]["message"]) == (401, "Not Authorized")


async def test_faults_speak_like_the_wire_and_calls_are_logged(projects):
    control = "http://sandbox.test/faults/projects"
    fault = {"kind": "429", "count": 1, "retryAfter": 30}
    assert (await projects.http.put(control, json=fault)).status_code == 200
    throttled = await projects.http.get(f"{BASE}/users/me")
    calls = (await projects.http.get("http://sandbox.test/calls/projects")).json()["calls"]

    assert (throttled.status_code, throttled.headers["retry-after"]) == (429, "30")
    assert throttled.json()["errors"][0]["message"].startswith("You've made too many requests")
    assert [(call["path"], call["fault"]) for call in calls] == [("/api/1.0/users/me", "429")]
