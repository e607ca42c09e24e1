"""
Connector of monday.com, by its GraphQL API.

    tasks           the task port of one account
    board_list      listing of the account's boards
    item_list       listing of a board's items
    filters         item queries as monday.com's item rules
    documents       GraphQL documents, restricted to the wanted and visible fields
    column_types    column types and settings
    people          names of people whose text does not tell them apart
    mapping         from response structs to records
    writing         mutations, one board at a time and column by column when refused
    graphql_client  sends documents and decodes responses
    response_types  structs that responses are decoded into
    failures        GraphQL errors as provider failures
    checks          checks of an account
    account         the address of a token's owner
"""

from providers.catalogue.descriptors import Connector, Consent, Http, Service

_READ_SCOPES = (
    *("me:read", "boards:read", "updates:read", "users:read", "account:read"),
    *("workspaces:read", "assets:read"),
)

CONNECTOR = Connector(
    code="BOARDS",
    name="Task boards",
    sandbox_path="tasks",
    item_paths=(r"/boards/\d{1,20}(?:/views/\d{1,20})?/pulses/(\d{1,20})",),
    http=Http(classify=f"{__name__}.failures:classify", concurrency=4, scheme=""),
    consent=Consent(
        vendor="monday.com",
        client="tasks",
        server="oauth_tasks",
        sandbox_path="tasks",
        json_body=True,
    ),
    services=(
        Service(
            kind="tasks",
            product="monday.com",
            port=f"{__name__}.tasks:open_port",
            checks=f"{__name__}.checks:TASKS",
            url_setting="tasks_url",
            read_scopes=_READ_SCOPES,
            write_scopes=(*_READ_SCOPES, "boards:write", "updates:write"),
            account=f"{__name__}.account:read_account",
        ),
    ),
)
