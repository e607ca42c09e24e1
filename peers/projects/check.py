"""Check the sandbox's Asana projects with the vendor's unchanged Python client over a socket."""

import json
import urllib.request
from pathlib import Path

import asana
from asana.rest import ApiException
from serving import served

HERE = Path(__file__).resolve().parent


def main() -> None:
    with served(HERE / "seed.py") as facts:
        client = connect(facts["url"], facts["token"])
        reading(client, facts)
        writing(client, facts)
        structure(client, facts)
        refusals(client, facts)
        faults(client, facts)
        print("the vendor's Python client agrees")


def connect(url, token):
    configuration = asana.Configuration()
    configuration.host = f"{url}/projects/api/1.0"
    configuration.access_token = token
    # Retry without waiting.
    configuration.retry_strategy = configuration.retry_strategy.new(backoff_factor=0)
    return asana.ApiClient(configuration)


def reading(client, facts) -> None:
    big, space = facts["projects"]["Corniche pavilion"], facts["workspace"]
    me = asana.UsersApi(client).get_user("me", {})
    assert me["email"] == "nora@harbourlight-studio.example", me
    people = list(asana.UsersApi(client).get_users_for_workspace(space, {"opt_fields": "email"}))
    assert len(people) == 9, people
    (one,) = asana.WorkspacesApi(client).get_workspaces({})
    assert one["gid"] == space

    every = list(asana.ProjectsApi(client).get_projects({"workspace": space, "archived": False}))
    assert "Kinvara clubhouse" not in [item["name"] for item in every]
    whole = asana.ProjectsApi(client).get_project(big, {})
    assert whole["privacy_setting"] == "public_to_workspace"
    sections = list(asana.SectionsApi(client).get_sections_for_project(big, {}))
    assert [item["name"] for item in sections][1:3] == ["Brief", "Sketch design"]
    settings = asana.CustomFieldSettingsApi(client).get_custom_field_settings_for_project(
        big, {"opt_fields": "custom_field.name,custom_field.type,custom_field.enum_options.name"}
    )
    kinds = {
        setting["custom_field"]["name"]: setting["custom_field"]["type"] for setting in settings
    }
    assert (kinds["Priority"], kinds["Fee"]) == ("enum", "number"), kinds

    tasks = asana.TasksApi(client)
    fields = {"opt_fields": "name,assignee.name,due_on,custom_fields.display_value,tags.name"}
    found = list(tasks.get_tasks_for_project(big, {"limit": 13, **fields}))
    assert len(found) == len({item["gid"] for item in found}) == 68
    assert found[0].keys() == {*("gid", "name", "assignee", "due_on", "custom_fields", "tags")}, (
        found[0].keys()
    )
    section = list(tasks.get_tasks_for_section(sections[1]["gid"], {"limit": 5}))
    assert len(section) == 20, len(section)
    first = next(item for item in found if item["name"] == "Draw the entrance")
    below = list(tasks.get_subtasks_for_task(first["gid"], {}))
    assert [item["name"] for item in below] == ["Measure", "Ask Amara", "Draw", "Have it checked"]
    fifth = next(item for item in found if item["name"] == "Draw the roof")
    stories = list(asana.StoriesApi(client).get_stories_for_task(fifth["gid"], {"limit": 10}))
    assert len([story for story in stories if story["type"] == "comment"]) == 27
    search = tasks.search_tasks_for_workspace(space, {"text": "sauna"})
    assert len(list(search)) == 5
    assert len(list(asana.TagsApi(client).get_tags_for_workspace(space, {}))) == 4
    counts = asana.ProjectsApi(client).get_task_counts_for_project(
        big, {"opt_fields": "num_tasks,num_completed_tasks"}
    )
    assert counts == {"num_tasks": 68, "num_completed_tasks": 15}, counts


def writing(client, facts) -> None:
    big = facts["projects"]["Corniche pavilion"]
    tasks, stories = asana.TasksApi(client), asana.StoriesApi(client)
    settings = asana.CustomFieldSettingsApi(client).get_custom_field_settings_for_project(
        big, {"opt_fields": "custom_field.(name|enum_options)"}
    )
    fields = {setting["custom_field"]["name"]: setting["custom_field"] for setting in settings}
    high = fields["Priority"]["enum_options"][0]["gid"]
    made = tasks.create_task(
        {
            "data": {
                "name": "From a client ✓",
                "projects": [big],
                "assignee": "me",
                "due_on": "2026-12-24",
                "custom_fields": {fields["Priority"]["gid"]: high, fields["Hours"]["gid"]: 3},
            }
        },
        {},
    )
    shown = {
        custom_field["name"]: custom_field["display_value"]
        for custom_field in made["custom_fields"]
    }
    assert (shown["Priority"], shown["Hours"]) == ("High", "3.0"), shown
    assert made["memberships"][0]["section"]["name"] == "Untitled section"

    changed = tasks.update_task(
        {"data": {"completed": True, "notes": "Done & gone", "due_on": None}}, made["gid"], {}
    )
    assert (changed["completed"], changed["due_on"]) == (True, None)
    said = stories.create_story_for_task({"data": {"text": "Said <so>"}}, made["gid"], {})
    assert (said["text"], said["type"]) == ("Said <so>", "comment")
    stories.update_story({"data": {"text": "Said so"}}, said["gid"], {})
    assert stories.get_story(said["gid"], {})["is_edited"]
    stories.delete_story(said["gid"])
    below = tasks.create_subtask_for_task({"data": {"name": "Below"}}, made["gid"], {})
    assert below["parent"]["gid"] == made["gid"]
    tag = asana.TagsApi(client).create_tag(
        {"data": {"name": "fresh", "workspace": facts["workspace"]}}, {}
    )
    tasks.add_tag_for_task({"data": {"tag": tag["gid"]}}, made["gid"])
    assert [item["gid"] for item in tasks.get_tasks_for_tag(tag["gid"], {})] == [made["gid"]]
    tasks.remove_tag_for_task({"data": {"tag": tag["gid"]}}, made["gid"])
    tasks.delete_task(made["gid"])
    refused(lambda: tasks.get_task(made["gid"], {}), 404, "task: Unknown object")
    refused(lambda: tasks.get_task(below["gid"], {}), 404, "task: Unknown object")


def structure(client, facts) -> None:
    space = facts["workspace"]
    projects, sections = asana.ProjectsApi(client), asana.SectionsApi(client)
    team = projects.get_project(facts["projects"]["Corniche pavilion"], {})["team"]["gid"]
    made = projects.create_project(
        {"data": {"name": "Made by a client", "workspace": space, "team": team}}, {}
    )
    section = sections.create_section_for_project(
        made["gid"], {"body": {"data": {"name": "Second"}}}
    )
    field = asana.CustomFieldsApi(client).create_custom_field(
        {
            "data": {
                "name": "Where",
                "resource_subtype": "enum",
                "workspace": space,
                "enum_options": [{"name": "Here"}, {"name": "There"}],
            }
        },
        {},
    )
    projects.add_custom_field_setting_for_project(
        {"data": {"custom_field": field["gid"]}}, made["gid"], {}
    )
    there = field["enum_options"][1]["gid"]
    task = asana.TasksApi(client).create_task(
        {
            "data": {
                "name": "One",
                "memberships": [{"project": made["gid"], "section": section["gid"]}],
                "custom_fields": {field["gid"]: there},
            }
        },
        {},
    )
    assert task["custom_fields"][0]["enum_value"]["name"] == "There"
    projects.update_project({"data": {"archived": True}}, made["gid"], {})
    assert projects.get_project(made["gid"], {})["archived"]
    actions = [{"method": "get", "relative_path": f"/tasks/{task['gid']}"}]
    batch = asana.BatchAPIApi(client).create_batch_request({"data": {"actions": actions}}, {})
    assert [item["status_code"] for item in batch] == [200]
    projects.delete_project(made["gid"])


def refusals(client, facts) -> None:
    tasks = asana.TasksApi(client)
    hidden = facts["projects"]["Partners only"]
    refused(lambda: tasks.get_task("1", {}), 404, "task: Unknown object: 1")
    refused(lambda: list(tasks.get_tasks({})), 400, "Must specify exactly one")
    refused(lambda: asana.ProjectsApi(client).get_project(hidden, {}), 403, "do not have access")
    reader = connect(facts["url"], facts["reader"])
    make = asana.TasksApi(reader).create_task
    refused(lambda: make({"data": {"name": "x"}}, {}), 403, "scope")
    stranger = asana.UsersApi(connect(facts["url"], "nonsense"))
    refused(lambda: stranger.get_user("me", {}), 401, "Not Authorized")


def refused(call, status, part) -> None:
    try:
        call()
    except ApiException as problem:
        message = json.loads(problem.body)["errors"][0]["message"]
        assert (problem.status, part in message) == (status, True), (problem.status, message)
    else:
        raise AssertionError(f"not refused: {part}")


def faults(client, facts) -> None:
    """Check that the client's own retries outlast a throttle."""
    fault = json.dumps({"kind": "429", "count": 2, "retryAfter": 0}).encode()
    call = urllib.request.Request(f"{facts['url']}/faults/projects", fault, method="PUT")
    with urllib.request.urlopen(call) as answer:
        assert answer.status == 200
    assert asana.UsersApi(client).get_user("me", {})["name"] == "Nora Lindqvist"


if __name__ == "__main__":
    main()
