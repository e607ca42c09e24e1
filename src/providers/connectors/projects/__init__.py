"""
Connector of Asana, by its REST API: projects are boards, sections groups, tasks items.

    tasks           the task port of one account
    project_list    listing of the account's projects
    matching        filters over tasks, applied to the tasks that were read
    column_types    columns of a project: fields of every task and custom fields
    mapping         `opt_fields`, and from response structs to records
    writing         writes, field by field when they are refused together
    paged_reader    reads listings from a position on
    rest_client     requests for records, pages and listings; writes
    response_types  structs that responses are decoded into
    failures        error responses as provider failures
    checks          checks of an account
"""

from providers.catalogue.descriptors import Connector, Consent, Http, Service

_READ_SCOPES = (
    *("openid", "email", "workspaces:read", "users:read", "projects:read", "custom_fields:read"),
    *("tasks:read", "stories:read", "tags:read", "attachments:read", "teams:read"),
)

CONNECTOR = Connector(
    code="PROJECTS",
    name="Task projects",
    sandbox_path="projects",
    item_paths=(
        r"/(?:0/\d{1,20}|1/\d{1,20}(?:/project/\d{1,20})?/(?:task|tasks))/(\d{1,20})(?:/f)?",
    ),
    http=Http(
        classify=f"{__name__}.failures:classify", concurrency=8, forbidden_may_lack_scope=True
    ),
    consent=Consent(
        vendor="Asana",
        client="projects",
        server="oauth_projects",
        sandbox_path="projects",
        optional_scopes=frozenset({"teams:read"}),
        full_scope="default",
    ),
    services=(
        Service(
            kind="tasks",
            product="Asana",
            port=f"{__name__}.tasks:open_port",
            checks=f"{__name__}.checks:TASKS",
            url_setting="projects_url",
            read_scopes=_READ_SCOPES,
            write_scopes=(*_READ_SCOPES, "tasks:write", "tasks:delete", "stories:write"),
        ),
    ),
)
