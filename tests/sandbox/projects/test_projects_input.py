"""Property tests: any request gets a documented status and body."""

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.http import Request
from sandbox.oauth.tokens import TokenGrant
from sandbox.projects.endpoints import ROUTES, ProjectEndpoints
from sandbox.projects.store import ProjectStore
from sandbox.state import open_state
from sandbox.world.tasks.projects import seed

KEYS = st.sampled_from(
    [
        *("name", "notes", "html_notes", "assignee", "completed", "due_on", "due_at", "start_on"),
        *("projects", "memberships", "project", "section", "tags", "parent", "workspace", "team"),
        *("custom_fields", "text", "html_text", "resource_subtype", "enum_options", "precision"),
        *("tag", "task", "custom_field", "archived", "color", "privacy_setting", "description"),
    ]
)


STORE = ProjectStore(open_state(None).database)
FACTS = seed(STORE.database)
# Ids of every kind, so that a call now and then names something.
IDS = [
    store.all()[0].id
    for store in (
        *(STORE.workspaces, STORE.projects, STORE.sections, STORE.tasks, STORE.tags),
        *(STORE.fields, STORE.users, STORE.stories),
    )
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.text(max_size=8)
    | st.sampled_from([*IDS, "2026-01-01", "<body>x</body>", "me"])
)
VALUES = st.recursive(
    LEAVES,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(KEYS | st.sampled_from(IDS), below, max_size=4)
    ),
    max_leaves=6,
)
# What makes a write complete, so that the rest of its body matters.
COMPLETE = {
    "/tasks": {"projects": [IDS[1]]},
    "/projects": {"name": "x", "team": STORE.teams.all()[0].id},
    "/custom_fields": {"name": "x", "resource_subtype": "enum"},
    "/tags": {"name": "x"},
}
FIELDS = st.dictionaries(
    st.sampled_from([record.id for record in STORE.fields.all()]), VALUES, max_size=2
)
QUERIES = st.tuples(
    st.sampled_from(["limit", "offset", "opt_fields", "project", "assignee", "completed_since"]),
    st.text(max_size=6) | st.sampled_from(["5", "name,(a|b).c", "me", "now"]),
)


@settings(suppress_health_check=list(HealthCheck))
@given(
    row=st.sampled_from(ROUTES),
    gid=st.sampled_from([*IDS, "1", "ü", ""]),
    body=st.dictionaries(KEYS, VALUES, max_size=5),
    custom_fields=FIELDS,
    query=st.lists(QUERIES, max_size=3),
)
async def test_any_request_gets_a_response_of_the_api(row, gid, body, custom_fields, query):
    method, path, _, _ = row
    segments = tuple(gid if part == "{gid}" else part for part in path.strip("/").split("/"))
    whole = {**body, **COMPLETE.get(path, {})}
    if custom_fields:
        whole["custom_fields"] = custom_fields
    answer = await ProjectEndpoints(STORE)(
        Request(
            method=method,
            segments=segments,
            query=tuple(query),
            body=b"" if method == "GET" else orjson.dumps({"data": whole}),
            grant=TokenGrant(upstream="projects", account=FACTS.account, scopes=()),
        )
    )

    assert answer.status in {200, 201, 400, 403, 404}
    assert orjson.loads(answer.body).keys() <= {"data", "next_page", "errors"}
