"""
Check the sandbox's sites, files and lists with the vendor's unchanged Python client over a socket:
every response must fit the vendor's published types and the client's own models.
"""

import asyncio
import io
import json
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from kiota_abstractions.api_error import APIError
from kiota_abstractions.authentication import (
    AccessTokenProvider,
    AllowedHostsValidator,
    BaseBearerTokenAuthenticationProvider,
)
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.generated.drives.item.items.item.children.children_request_builder import (
    ChildrenRequestBuilder as Children,
)
from msgraph.generated.drives.item.items.item.create_link.create_link_post_request_body import (
    CreateLinkPostRequestBody,
)
from msgraph.generated.drives.item.items.item.create_upload_session.create_upload_session_post_request_body import (
    CreateUploadSessionPostRequestBody,
)
from msgraph.generated.drives.item.items.item.drive_item_item_request_builder import (
    DriveItemItemRequestBuilder as OneItem,
)
from msgraph.generated.drives.item.items.item.invite.invite_post_request_body import (
    InvitePostRequestBody,
)
from msgraph.generated.models.column_definition import ColumnDefinition
from msgraph.generated.models.drive_item import DriveItem
from msgraph.generated.models.drive_item_uploadable_properties import DriveItemUploadableProperties
from msgraph.generated.models.drive_recipient import DriveRecipient
from msgraph.generated.models.entity_type import EntityType
from msgraph.generated.models.field_value_set import FieldValueSet
from msgraph.generated.models.folder import Folder
from msgraph.generated.models.item_reference import ItemReference
from msgraph.generated.models.list_item import ListItem
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.models.permission import Permission
from msgraph.generated.models.search_query import SearchQuery
from msgraph.generated.models.search_request import SearchRequest
from msgraph.generated.search.query.query_post_request_body import QueryPostRequestBody
from msgraph.generated.sites.item.lists.item.columns.columns_request_builder import (
    ColumnsRequestBuilder as Columns,
)
from msgraph.generated.sites.item.lists.item.items.items_request_builder import (
    ItemsRequestBuilder as Rows,
)
from msgraph.generated.sites.item.lists.lists_request_builder import ListsRequestBuilder as Lists
from msgraph.generated.sites.sites_request_builder import SitesRequestBuilder as Sites
from msgraph.graph_request_adapter import options
from msgraph_core import GraphClientFactory
from msgraph_core.requests.batch_request_content import BatchRequestContent
from msgraph_core.requests.batch_request_item import BatchRequestItem
from msgraph_core.tasks.large_file_upload import LargeFileUploadTask
from msgraph_core.tasks.page_iterator import PageIterator
from serving import served

ROOT = Path(__file__).resolve().parents[2]
# The derived list of types is beside the checkout, or with the tests.
TYPES_AT = (
    ROOT.parent / "shared/reference/schemas/graph_types_min.json",
    ROOT / "tests/sandbox/provider_b/data/graph_types_min.json",
)
TYPES = json.loads(next(path for path in TYPES_AT if path.is_file()).read_text("utf-8"))
KINDS = {
    "sites": "site",
    "drives": "drive",
    "items": "driveItem",
    "children": "driveItem",
    "search(q='')": "driveItem",
    "permissions": "permission",
    "permission": "permission",
    "Collection(permission)": "permission",
    "lists": "list",
    "columns": "columnDefinition",
    "contentTypes": "contentType",
    "microsoft.graph.uploadSession": "uploadSession",
    "microsoft.graph.extractSensitivityLabelsResult": "extractSensitivityLabelsResult",
    "Collection(microsoft.graph.searchResponse)": "searchResponse",
    "fields": "fieldValueSet",
}
PRIMITIVES = {"Edm.String": str, "Edm.Boolean": bool, "Edm.Int32": int, "Edm.Int64": int}
# Types that are checked strictly although the published type is open.
CLOSED = {"microsoft.graph.driveItem", "microsoft.graph.listItem"}
SEEN = {"answers": 0, "checked": 0, "models": 0}
STEP = 320 * 1024


def problems(value, kind, path):
    """Yield the parts of a response that violate the published type."""
    if value is None:
        return
    if kind.startswith("Collection("):
        for index, item in enumerate(value):
            yield from problems(item, kind[11:-1], f"{path}[{index}]")
    elif kind in TYPES["enums"]:
        if value not in TYPES["enums"][kind]:
            yield f"{path}: {value!r} is not in {kind}"
    elif kind in TYPES["types"] or kind == "microsoft.graph.entity":
        named = value.get("@odata.type", "").removeprefix("#") or kind
        known = TYPES["types"][named]
        for name, member in value.items():
            if "@" in name:
                continue
            if name in known["props"]:
                yield from problems(member, known["props"][name], f"{path}.{name}")
            elif not known["open"] or named in CLOSED:
                yield f"{path}.{name} is not a property of {named}"
    elif not isinstance(value, PRIMITIVES.get(kind, str)):
        yield f"{path}: {value!r} is not {kind}"


async def check_answer(response):
    await response.aread()
    SEEN["answers"] += 1
    if "json" not in response.headers.get("content-type", "") or response.status_code >= 400:
        return
    check_body(response.json())


def check_body(body):
    for part in body.get("responses", ()):
        assert "error" in part["body"] or part["status"] < 400, part
        if part["status"] < 400:
            check_body(part["body"])
    context = body.get("@odata.context", "").partition("$metadata#")[2]
    is_one = context.endswith("/$entity")
    last = context.removesuffix("/$entity").rpartition("/")[2]
    kind = KINDS.get(last)
    if last == "items" and "/lists(" in context:
        kind = "listItem"
    if kind is None:
        return
    for record in body["value"] if not is_one and isinstance(body.get("value"), list) else [body]:
        violations = list(problems(record, f"microsoft.graph.{kind}", kind))
        assert not violations, violations
        SEEN["checked"] += 1


# Members that the client's models do not define: "email" and "group" of the open identity types,
# and members of the published sample of a label that its published type lacks.
UNNAMED = {"email", "group", "color", "isEnabled", "applicableTo"}


def unknown(model, path="$"):
    """Yield the members that the client's model does not define."""
    SEEN["models"] += 1
    extra = getattr(model, "additional_data", None)
    if isinstance(extra, dict) and not isinstance(model, FieldValueSet):
        yield from (f"{path}.{name}" for name in extra if "@" not in name and name not in UNNAMED)
    store = getattr(model, "backing_store", None)
    members = dict(store.enumerate_()) if store is not None else vars(model)
    for name, value in members.items():
        for item in value if isinstance(value, list) else [value]:
            if name not in {"additional_data", "backing_store"} and hasattr(
                item, "get_field_deserializers"
            ):
                yield from unknown(item, f"{path}.{name}")


def strict(model):
    unknown_members = list(unknown(model))
    assert not unknown_members, unknown_members
    return model


class Static(AccessTokenProvider):
    """Token provider for the API's origin only, as the vendor's own credentials are."""

    def __init__(self, token, url):
        self.token, self.hosts = token, AllowedHostsValidator([])
        self.origin = urlsplit(url).netloc

    async def get_authorization_token(self, uri, additional_authentication_context=None):
        return self.token if urlsplit(uri).netloc == self.origin else ""

    def get_allowed_hosts_validator(self):
        return self.hosts


def connect(facts, token):
    http = GraphClientFactory.create_with_default_middleware(options=options)
    http.event_hooks = {"response": [check_answer]}
    provider = BaseBearerTokenAuthenticationProvider(Static(token, facts["url"]))
    adapter = GraphRequestAdapter(provider, client=http)
    adapter.base_url = f"{facts['url']}/collab/v1.0"
    return GraphServiceClient(request_adapter=adapter), adapter


def asked(parameters=None, **headers):
    found = RequestConfiguration(query_parameters=parameters)
    for name, value in headers.items():
        found.headers.add(name.replace("_", "-"), value)
    return found


def control(facts, method, path, body=None):
    request = urllib.request.Request(
        facts["url"] + path, method=method, data=None if body is None else json.dumps(body).encode()
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


async def refused(call, status, code):
    try:
        await call
    except ODataError as error:
        assert (error.response_status_code, error.error.code) == (status, code), error
        assert error.error.message
        return
    raise AssertionError(f"expected {status} {code}")


async def every(page, adapter):
    found = []
    await PageIterator(page, adapter).iterate(lambda one: found.append(one) or True)
    return found


async def sites(client, adapter, facts):
    query = Sites.SitesRequestBuilderGetQueryParameters
    page = strict(await client.sites.get(asked(query(search='"*"', top=2))))
    found = await every(page, adapter)
    assert len({item.id for item in found}) == 7, [item.web_url for item in found]
    assert len(found) == 8  # the search repeats one
    root = strict(await client.sites.by_site_id("root").get())
    assert root.id == facts["sites"][""]
    yard = client.sites.by_site_id(facts["sites"]["/sites/yard"])
    assert strict(await yard.get()).display_name == "Yard"
    by_path = client.sites.by_site_id("harbourlight.example").get_by_path_with_path("/sites/yard")
    assert strict(await by_path.get()).id == facts["sites"]["/sites/yard"]
    followed = strict(await client.me.followed_sites.get())
    assert len(followed.value) == 2
    application, _ = connect(facts, facts["application"])
    assert len(strict(await application.sites.get_all_sites.get()).value) == 9
    await refused(client.sites.get_all_sites.get(), 403, "accessDenied")
    selected, _ = connect(facts, facts["selected"])
    await refused(selected.sites.get(asked(query(search='"*"'))), 403, "accessDenied")
    studio = facts["sites"]["/sites/studio"]
    assert strict(await selected.sites.by_site_id(studio).get()).display_name == "Studio"
    await refused(
        client.sites.by_site_id(facts["sites"]["/sites/council"]).get(), 403, "accessDenied"
    )
    drives = strict(await yard.drives.get())
    assert [item.name for item in drives.value] == ["Documents", "Drawings"]
    assert strict(await client.me.drive.get()).drive_type == "business"


async def files(client, adapter, facts):
    drive = client.drives.by_drive_id(facts["subjects"]["drive"])
    assert strict(await drive.get()).quota.used > 100_000
    assert strict(await drive.root.get()).root is not None
    query = Children.ChildrenRequestBuilderGetQueryParameters
    page = await drive.items.by_drive_item_id("root").children.get(
        asked(query(top=10, orderby=["name"], select=["id", "name", "folder", "size"]))
    )
    assert len(page.value) == 10
    folders = await every(strict(page), adapter)
    assert len(folders) == 36
    assert all(folder.folder.child_count == 3 for folder in folders)
    whole = OneItem.DriveItemItemRequestBuilderGetQueryParameters(
        expand=["listItem($expand=fields)", "permissions"]
    )
    item = strict(await drive.items.by_drive_item_id(facts["subjects"]["file"]).get(asked(whole)))
    assert item.file.mime_type == "application/pdf"
    assert item.list_item.fields.additional_data["FileLeafRef"] == item.name
    assert item.created_by.user.additional_data["email"].endswith("@harbourlight.example")
    link = item.additional_data["@microsoft.graph.downloadUrl"]
    assert urlsplit(link).netloc.startswith("localhost:")
    by_path = f"root:/{item.parent_reference.path.partition('root:/')[2]}/{item.name}:"
    same = strict(await drive.items.by_drive_item_id(urllib.request.unquote(by_path)).get())
    assert same.id == item.id
    found = strict(await drive.items.by_drive_item_id("root").search_with_q("it''s a&b#").get())
    assert found.value == []
    found = strict(await drive.items.by_drive_item_id("root").search_with_q("garboard").get())
    assert len(found.value) == 32
    content = await drive.items.by_drive_item_id(item.id).content.get()
    assert content.startswith(b"%PDF-")
    assert len(content) == item.size
    last = control(facts, "GET", "/calls/collab")["calls"][-1]
    assert last["path"] == "/content/download.aspx", last
    try:
        bad = urllib.request.Request(link, headers={"Authorization": "Bearer x"})
        urllib.request.urlopen(bad)
    except urllib.error.HTTPError as error:
        assert error.code == 401
    else:
        raise AssertionError("a token was taken where none belongs")
    await refused(drive.items.by_drive_item_id("01NOTHING").get(), 404, "itemNotFound")
    await refused(client.drives.by_drive_id("nonsense").get(), 400, "invalidRequest")


async def changes(client, adapter, facts):
    drive = client.drives.by_drive_id(facts["subjects"]["drive"])
    items = drive.items
    wanted = DriveItem(
        name="Peer", folder=Folder(), additional_data={"@microsoft.graph.conflictBehavior": "fail"}
    )
    folder = strict(await items.by_drive_item_id("root").children.post(wanted))
    await refused(items.by_drive_item_id("root").children.post(wanted), 409, "nameAlreadyExists")
    place = items.by_drive_item_id(f"{folder.id}:/my file#1 (é).txt:")
    made = strict(await place.content.put(b"an unheard wording"))
    assert (made.name, made.size) == ("my file#1 (é).txt", 18)
    renamed = strict(
        await items.by_drive_item_id(made.id).patch(
            DriveItem(name="b.txt"), asked(None, If_Match=made.e_tag)
        )
    )
    assert renamed.id == made.id
    await refused(
        items.by_drive_item_id(made.id).patch(
            DriveItem(name="c.txt"), asked(None, If_Match=made.e_tag)
        ),
        412,
        "resourceModified",
    )
    boat = facts["subjects"]["folder"]
    moved = strict(
        await items.by_drive_item_id(made.id).patch(
            DriveItem(parent_reference=ItemReference(id=boat))
        )
    )
    assert moved.parent_reference.id == boat
    await large(drive, adapter, folder, 2 * STEP + 100_000)
    await sharing(items.by_drive_item_id(made.id))
    for item in (made.id, folder.id):
        await items.by_drive_item_id(item).delete()
        await refused(items.by_drive_item_id(item).get(), 404, "itemNotFound")
    reader, _ = connect(facts, facts["reader"])
    await refused(
        reader.drives.by_drive_id(facts["subjects"]["drive"])
        .items.by_drive_item_id("root")
        .children.post(wanted),
        403,
        "accessDenied",
    )


async def large(drive, adapter, folder, size):
    """Upload with the client's own upload task, which sends two parts."""
    body = CreateUploadSessionPostRequestBody(
        item=DriveItemUploadableProperties(
            name="large.bin", additional_data={"@microsoft.graph.conflictBehavior": "fail"}
        )
    )
    place = drive.items.by_drive_item_id(f"{folder.id}:/large.bin:")
    session = strict(await place.create_upload_session.post(body))
    assert urlsplit(session.upload_url).netloc.startswith("localhost:")
    stream = io.BytesIO(bytes(index % 251 for index in range(size)))
    task = LargeFileUploadTask(session, adapter, stream, DriveItem, max_chunk_size=2 * STEP)
    try:
        await task.upload()
    except APIError as error:  # the task sends the last part twice, when the session has ended
        assert error.response_status_code == 404, error
    kept = strict(await drive.items.by_drive_item_id(f"{folder.id}:/large.bin:").get())
    assert kept.size == size
    assert await drive.items.by_drive_item_id(kept.id).content.get() == stream.getvalue()


async def sharing(item):
    strict(await item.permissions.get())
    given = strict(
        await item.invite.post(
            InvitePostRequestBody(
                recipients=[DriveRecipient(email="jonas@harbourlight.example")],
                roles=["read"],
                require_sign_in=True,
                send_invitation=False,
                message="Look",
            )
        )
    )
    permission = item.permissions.by_permission_id(given.value[0].id)
    assert strict(await permission.patch(Permission(roles=["write"]))).roles == ["write"]
    link = strict(
        await item.create_link.post(CreateLinkPostRequestBody(type="view", scope="anonymous"))
    )
    assert (link.link.scope, link.roles) == ("anonymous", ["read"])
    shared = strict(await item.permissions.get()).value
    assert {link.id, given.value[0].id} <= {entry.id for entry in shared}
    await permission.delete()
    await refused(permission.get(), 404, "itemNotFound")


async def lists(client, adapter, facts):
    site = client.sites.by_site_id(facts["sites"]["/sites/yard"])
    query = Lists.ListsRequestBuilderGetQueryParameters
    found = strict(await site.lists.get())
    assert [item.display_name for item in found.value] == [
        "Documents", "Drawings", "Berths", "Customers", "Work orders",
    ]  # fmt: skip
    root = client.sites.by_site_id("root")
    chosen = strict(
        await root.lists.get(asked(query(select=["id", "displayName", "list", "system"])))
    )
    assert any(item.system is not None for item in chosen.value)
    berths = site.lists.by_list_id(facts["subjects"]["list"])
    columns = strict(await berths.columns.get()).value
    kinds = {column.name: kind_of(column) for column in columns}
    assert kinds["Length"] == "number"
    assert kinds["Extras"] == "choice"
    assert "Internal" not in kinds
    more = Columns.ColumnsRequestBuilderGetQueryParameters(select=["name", "hidden"])
    assert "Internal" in {item.name for item in (await berths.columns.get(asked(more))).value}
    rows = Rows.ItemsRequestBuilderGetQueryParameters
    page = strict(
        await berths.items.get(
            asked(
                rows(
                    expand=["fields($select=Title,Length)"],
                    filter="fields/Length ge 15",
                    orderby=["fields/Length desc"],
                    top=7,
                )
            )
        )
    )
    values = [item.fields.additional_data for item in await every(page, adapter)]
    lengths = [value["Length"] for value in values]
    assert lengths == sorted(lengths, reverse=True)
    assert min(lengths) >= 15
    narrow = rows(filter="fields/Paid eq 1")
    await refused(berths.items.get(asked(narrow)), 400, "invalidRequest")
    honour = "HonorNonIndexedQueriesWarningMayFailRandomly"
    assert len(strict(await berths.items.get(asked(narrow, Prefer=honour))).value) == 90
    store = client.sites.by_site_id(facts["sites"]["/sites/store"])
    stock = store.lists.by_list_id(facts["subjects"]["large_list"])
    wide = rows(filter="fields/Counted eq 1")
    await refused(stock.items.get(asked(wide, Prefer=honour)), 400, "invalidRequest")
    slim = rows(filter="fields/Warehouse eq 'Quay' and fields/Counted eq 1", top=5000)
    assert len(strict(await stock.items.get(asked(slim, Prefer=honour))).value) == 30
    # Without its models, which take time with the square of the rows.
    longest = stock.items.to_get_request_information(asked(rows(top=5000)))
    longest_body = json.loads(await adapter.send_primitive_async(longest, "bytes", {}))
    assert len(longest_body["value"]) == 5000
    await refused(stock.items.get(asked(rows(top=5001))), 400, "invalidRequest")
    await writing(berths)


def kind_of(column: ColumnDefinition):
    names = ("boolean", "calculated", "choice", "currency", "date_time", "number", "text")
    return next((name for name in names if getattr(column, name) is not None), "other")


async def writing(berths):
    values = {"Title": "Berth X", "Length": 7.5, "Paid": True, "Tenant": "Ö"}
    made = strict(await berths.items.post(ListItem(fields=FieldValueSet(additional_data=values))))
    row = berths.items.by_list_item_id(made.id)
    assert made.fields.additional_data["Length"] == 7.5
    changed = strict(
        await row.fields.patch(FieldValueSet(additional_data={"Length": 8, "Paid": None}))
    )
    assert changed.additional_data["Length"] == 8
    await refused(
        row.fields.patch(
            FieldValueSet(additional_data={"Length": 9}), asked(None, If_Match=made.e_tag)
        ),
        412,
        "resourceModified",
    )
    await refused(
        row.fields.patch(FieldValueSet(additional_data={"Code": "x"})), 400, "invalidRequest"
    )
    await row.delete()
    await refused(row.get(), 404, "itemNotFound")


async def search(client, facts):
    body = QueryPostRequestBody(
        requests=[
            SearchRequest(
                entity_types=[
                    EntityType.DriveItem, EntityType.ListItem, EntityType.List_, EntityType.Site,
                ],
                query=SearchQuery(query_string='garboard OR title:"Berth 3"'),
                size=40,
            )
        ]
    )  # fmt: skip
    answer = strict(await client.search.query.post(body))
    container = answer.value[0].hits_containers[0]
    assert container.total == 33, container.total
    kinds = {hit.resource.odata_type for hit in container.hits}
    assert kinds == {"#microsoft.graph.driveItem", "#microsoft.graph.listItem"}
    selected, _ = connect(facts, facts["selected"])
    await refused(selected.search.query.post(body), 403, "accessDenied")


async def labels(client, facts):
    catalogue = strict(await client.security.data_security_and_governance.sensitivity_labels.get())
    names = [item.name for item in catalogue.value]
    assert names == ["Public", "General", "Confidential", "Highly confidential", "Secret (2019)"]
    assert len(catalogue.value[2].sublabels) == 2
    drive = client.drives.by_drive_id(facts["subjects"]["drive"])
    labelled = drive.items.by_drive_item_id(facts["subjects"]["labelled_file"])
    found = strict(await labelled.extract_sensitivity_labels.post())
    assert found.labels[0].sensitivity_label_id == facts["subjects"]["label"]
    own = strict(await client.me.drive.get())
    broken = client.drives.by_drive_id(own.id).items.by_drive_item_id(
        facts["subjects"]["unreadable_file"]
    )
    await refused(broken.extract_sensitivity_labels.post(), 423, "fileDoubleKeyEncrypted")


async def batch(client, adapter, facts):
    drive = client.drives.by_drive_id(facts["subjects"]["drive"])
    content = BatchRequestContent()
    for item in (facts["subjects"]["file"], facts["subjects"]["folder"], "01NOTHING"):
        request = drive.items.by_drive_item_id(item).to_get_request_information()
        content.add_request(None, BatchRequestItem(request_information=request))
    answer = await client.batch.post(batch_request_content=content)
    statuses = sorted(answer.get_response_status_codes().values())
    assert statuses == [200, 200, 404], statuses


async def throttled(client, facts):
    fault = {"kind": "429", "count": 1, "retryAfter": 0}
    control(facts, "PUT", "/faults/collab", fault)
    strict(await client.sites.by_site_id("root").get())
    control(facts, "DELETE", "/faults/collab")


async def main(facts):
    client, adapter = connect(facts, facts["token"])
    await sites(client, adapter, facts)
    await files(client, adapter, facts)
    await changes(client, adapter, facts)
    await lists(client, adapter, facts)
    await search(client, facts)
    await labels(client, facts)
    await batch(client, adapter, facts)
    await throttled(client, facts)
    print(
        f"{SEEN['answers']} answers, {SEEN['checked']} records of published types, "
        f"{SEEN['models']} models without unknown members"
    )


if __name__ == "__main__":
    with served(Path(__file__).with_name("seed.py")) as facts:
        asyncio.run(main(facts))
