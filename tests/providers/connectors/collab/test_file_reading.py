"""Reads of sites, libraries and files of one connection, against the sandbox."""

from datetime import UTC, datetime

import msgspec
import pytest
from collab_upstream import ANN, BOB, FILE, READ, key, list_key

from providers.collab_ids import ItemKey, ListKey
from providers.failures import Broken, Missing, Refused, Throttled
from providers.ports.collab import InvalidCursor, NotDownloadable
from providers.records.collab import UNKNOWN, DriveUser
from sandbox.collab import records as r

NAME = frozenset({"name"})
WHEN = datetime(2026, 1, 5, 8, tzinfo=UTC)
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


async def children(port, folder, *, cursor=None, top=100, projection=NAME):
    return await port.files.children(folder, cursor=cursor, top=top, projection=projection)


async def test_delegated_connections_see_the_sites_of_their_user(tenant):
    sites = await tenant.delegated().port.sites.visible()

    assert sorted(site.display_name for site in sites) == ["Ann Miller", "Company", "Yard"]
    assert [site.is_personal_site for site in sites if site.site == tenant.mine.id] == [True]


async def test_reading_a_site(tenant):
    site = await tenant.delegated().port.sites.get(tenant.yard.id)

    assert site.id == f"collab:site:{tenant.yard.id}"
    assert site.display_name == "Yard"
    assert site.name == "yard"
    assert site.description == "Where boats are"
    assert site.web_url == "https://content.x.test/sites/yard"
    assert site.created_date_time == WHEN
    assert site.is_personal_site is False


async def test_sites_of_other_users_are_missing(tenant):
    port = tenant.delegated().port

    with pytest.raises(Missing):
        await port.sites.get(tenant.board.id)
    with pytest.raises(Missing):
        await port.sites.get(tenant.yard.id.replace("content", "contents"))


async def test_libraries_carry_their_site_and_list(tenant):
    port = tenant.delegated().port
    drives = (await port.sites.drives([tenant.yard.id, tenant.board.id]))[tenant.yard.id]

    assert [drive.name for drive in drives] == ["Documents", "Drawings"]
    assert {drive.site for drive in drives} == {tenant.yard.id}
    assert drives[0].list_id == tenant.store.get(r.Library, drives[0].drive).list_id
    assert drives[0].root_folder_id == f"collab:drive:{drives[0].drive}:item:root"


async def test_invisible_libraries_are_none(tenant):
    port = tenant.delegated().port
    seen, other = tenant.documents.drive_id, tenant.minutes.drive_id

    drives = await port.sites.get_drives([seen, other])

    assert drives[seen].site == tenant.yard.id
    assert drives[other] is None


async def test_reading_every_attribute_of_a_file(tenant):
    tenant.make.share(tenant.plan, "user", "write", to=(BOB,))
    tenant.make.save()

    file = await tenant.delegated().port.files.get(
        key(tenant.plan), projection=FILE | {"shared_with"}
    )

    assert file.id == f"collab:drive:{tenant.plan.drive_id}:item:{tenant.plan.id}"
    assert file.name == "Plan é.docx"
    assert file.mime_type == file.media_type == DOCX
    assert file.size == tenant.plan.size
    assert file.created_time == file.modified_time == WHEN
    assert file.owners == (DriveUser(email=ANN, display_name="Ann Miller", role="owner"),)
    assert file.shared_with[-1] == DriveUser(email=BOB, display_name="Bob Stone", role="writer")
    assert file.web_view_link.startswith("https://content.x.test/sites/yard/Shared%20Documents/")
    assert file.download_link is None
    assert file.parent == key(tenant.inner)
    assert file.parent_folder_id == f"collab:drive:{tenant.plan.drive_id}:item:{tenant.inner.id}"
    assert file.parent_folder_name == "Inner #1 & 'co'"
    assert file.is_folder is False
    assert file.site == tenant.yard.id
    assert file.list_id == tenant.store.get(r.Library, tenant.plan.drive_id).list_id
    assert file.list_item_id == str(tenant.plan.number)
    assert file.content_type_id == "0x0101"


async def test_only_wanted_attributes_are_selected(tenant):
    file = await tenant.delegated().port.files.get(key(tenant.plan), projection=NAME)

    assert file.name == "Plan é.docx"
    assert (file.size, file.owners, file.web_view_link, file.etag) == (None, None, None, None)
    assert (file.list_id, file.content_type_id) == (UNKNOWN, UNKNOWN)
    (call,) = tenant.calls
    assert call["query"] == {
        "$select": ["id,file,folder,package,root,parentReference,remoteItem,name"]
    }


async def test_folders_have_no_media_type(tenant):
    folder = await tenant.delegated().port.files.get(key(tenant.boats), projection=FILE)

    assert (folder.is_folder, folder.mime_type, folder.media_type) == (True, None, None)


async def test_files_without_a_type_have_an_unknown_media_type(tenant):
    tenant.store.put(msgspec.structs.replace(tenant.text, mime=""))

    file = await tenant.delegated().port.files.get(key(tenant.text), projection=FILE)

    assert (file.mime_type, file.media_type) == (None, UNKNOWN)


async def test_files_at_the_top_have_the_library_as_parent(tenant):
    file = await tenant.delegated().port.files.get(key(tenant.text), projection=FILE)

    assert file.parent_folder_name == "Documents"


async def test_the_root_folder_is_addressed_by_root(tenant):
    folder = ItemKey(tenant.documents.drive_id, "root")

    file = await tenant.delegated().port.files.get(folder, projection=FILE)

    assert (file.key, file.is_root, file.parent) == (key(tenant.documents), True, None)


@pytest.mark.parametrize("word", ["plan", "minutes"])
async def test_invisible_files_are_missing(tenant, word):
    item = key(getattr(tenant, "secret" if word == "minutes" else word))
    if word == "plan":
        item = ItemKey(item.drive, item.item[:-1] + "A")

    with pytest.raises(Missing):
        await tenant.delegated().port.files.get(item, projection=NAME)


async def test_a_file_known_under_another_id_is_missing(tenant):
    """Rules on ids hold even when upstream ignores the case of ids."""
    known = tenant.store.item
    tenant.store.item = lambda drive, item: known(drive, item.upper())
    port = tenant.delegated().port
    other_case = ItemKey(tenant.plan.drive_id, tenant.plan.id.lower())

    with pytest.raises(Missing):
        await port.files.get(other_case, projection=NAME)
    assert await port.files.get_many([other_case], projection=NAME) == {other_case: None}


async def test_many_files_are_read_in_batches(tenant):
    for number in range(45):
        tenant.make.file(tenant.boats, f"{number}.txt", ("text", "x"))
    tenant.make.save()
    port = tenant.delegated().port
    files = tenant.store.children(tenant.boats)
    absent = ItemKey(tenant.plan.drive_id, "01NOTHING")

    found = await port.files.get_many(
        [*map(key, files), absent, key(tenant.secret)], projection=NAME
    )

    assert [found[key(file)].name for file in files] == [file.name for file in files]
    assert found[absent] is None
    assert found[key(tenant.secret)] is None
    assert sum(path.endswith("$batch") for path in tenant.paths) == 3


async def test_unreadable_files_of_a_batch_are_unknown(tenant):
    tenant.fault(kind="500", match=tenant.plan.id)

    files = await tenant.delegated().port.files.get_many(
        [key(tenant.plan), key(tenant.text)], projection=NAME
    )

    assert files[key(tenant.plan)] is UNKNOWN
    assert files[key(tenant.text)].name == "notes.txt"


async def test_listing_a_folder_page_by_page(tenant):
    for number in range(7):
        tenant.make.file(tenant.boats, f"{number}.txt", ("text", "x"))
    tenant.make.save()
    port = tenant.delegated().port
    names, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await children(port, key(tenant.boats), cursor=cursor, top=3)
        names += [file.name for file in page.items]
        cursor, pages = page.next, pages + 1

    assert names == [
        "0.txt",
        "1.txt",
        "2.txt",
        "3.txt",
        "4.txt",
        "5.txt",
        "6.txt",
        tenant.inner.name,
    ]
    assert pages == 3


async def test_listings_continue_after_any_file(tenant):
    for number in range(7):
        tenant.make.file(tenant.inner, f"{number}.txt", ("text", "x"))
    tenant.make.save()
    port = tenant.delegated().port
    second = await children(
        port, key(tenant.inner), cursor=(await children(port, key(tenant.inner), top=3)).next, top=3
    )

    rest = await children(port, key(tenant.inner), cursor=second.cursors[1], top=3, projection=FILE)

    assert [file.name for file in second.items] == ["3.txt", "4.txt", "5.txt"]
    assert [file.name for file in rest.items] == ["5.txt"]
    assert rest.items[0].owners is not None  # selections may change from page to page


@pytest.mark.parametrize(
    "cursor", ["", "x", "1", "-1:", "1234567:", "٣:", "1:/v1.0/x?$skiptoken=y"]
)
async def test_foreign_cursors_are_invalid(tenant, cursor):
    with pytest.raises((InvalidCursor, Broken, Missing)):
        await children(tenant.delegated().port, key(tenant.boats), cursor=cursor)


async def test_a_cursor_never_leads_to_another_upstream(tenant):
    with pytest.raises(InvalidCursor):
        await children(
            tenant.delegated().port, key(tenant.boats), cursor="0:@evil.example/v1.0/x?$skiptoken=y"
        )

    assert not tenant.calls


async def test_searches_cover_the_subtree_of_a_folder(tenant):
    port = tenant.delegated().port

    async def found(folder, text):
        page = await port.files.search(folder, text, cursor=None, top=50, projection=FILE)
        return [file.name for file in page.items]

    root = ItemKey(tenant.documents.drive_id, "root")
    assert await found(root, "keel") == ["Plan é.docx"]
    assert await found(key(tenant.inner), "oak") == ["Plan é.docx"]
    assert await found(root, "it's #1 & 100%") == []
    assert await found(key(tenant.boats), "varnish") == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [("keel/oak", "keel oak"), ("a\\b", "a b"), ("R&D's", "R D s"), ('"the keel"', "the keel")],
)
async def test_separators_are_blanks_in_searches(tenant, text, sent):
    root = ItemKey(tenant.documents.drive_id, "root")

    await tenant.delegated().port.files.search(root, text, cursor=None, top=50, projection=NAME)

    assert tenant.paths == [f"GET /v1.0/drives/{root.drive}/root/search(q='{sent}')"]


@pytest.mark.parametrize("text", ["/", "& '", '""'])
async def test_searches_without_a_word_match_nothing(tenant, text):
    root = ItemKey(tenant.documents.drive_id, "root")

    page = await tenant.delegated().port.files.search(
        root, text, cursor=None, top=50, projection=NAME
    )

    assert (page.items, page.next) == ((), None)
    assert not tenant.calls


async def test_searches_expand_nothing(tenant):
    root = ItemKey(tenant.documents.drive_id, "root")

    page = await tenant.delegated().port.files.search(
        root, "keel", cursor=None, top=50, projection=FILE
    )

    assert [file.content_type_id for file in page.items] == [UNKNOWN]
    assert "$expand" not in str(tenant.calls[0]["query"])


async def test_a_refused_search_is_no_missing_folder(tenant):
    tenant.fault(kind="400", match="search(", reason="invalidRequest")
    port = tenant.delegated().port
    root = ItemKey(tenant.documents.drive_id, "root")

    with pytest.raises(Refused):
        await port.files.search(root, "keel", cursor=None, top=50, projection=NAME)
    with pytest.raises(Missing):
        await port.files.search(
            ItemKey(root.drive, "01NONE"), "keel", cursor=None, top=50, projection=NAME
        )


async def test_items_shared_from_other_libraries_are_left_out(tenant):
    lent = tenant.make.file(tenant.minutes, "lent.txt", ("text", "lent"))
    tenant.make.share(lent, "user", "read", to=(ANN,))
    tenant.make.save()
    root = ItemKey(tenant.own.drive_id, "root")

    page = await tenant.delegated().port.files.search(
        root, "lent", cursor=None, top=9, projection=NAME
    )

    assert page.items == ()


async def test_download_links_need_no_credentials(tenant):
    projection = frozenset({"download_link"})

    link = await tenant.delegated().port.files.link(key(tenant.text), projection=projection)

    assert link.download_url.startswith("http://content.example/collab/content/download.aspx?")
    assert (link.file.name, link.file.mime_type, link.file.size) == ("notes.txt", "text/plain", 18)
    assert link.file.site == tenant.yard.id
    assert link.expires_at is not None


async def test_hidden_download_links_are_not_requested(tenant):
    link = await tenant.delegated().port.files.link(key(tenant.text), projection=frozenset())

    assert (link.download_url, link.expires_at) == (None, None)
    assert "downloadUrl" not in str(tenant.calls[-1]["query"])


async def test_folders_have_no_download_link(tenant):
    with pytest.raises(NotDownloadable):
        await tenant.delegated().port.files.link(
            key(tenant.boats), projection=frozenset({"download_link"})
        )


async def test_permissions_are_mapped_to_api_words(tenant):
    tenant.make.share(tenant.text, "user", "write", to=(BOB,))
    tenant.make.share(tenant.text, "group", "read", to=("team.yard@x.test",))
    tenant.make.share(tenant.text, "link", "read", scope="anonymous", view="view")
    tenant.make.share(tenant.text, "link", "write", scope="organization", view="edit")
    tenant.make.save()

    permissions = await tenant.delegated().port.files.permissions(key(tenant.text))

    assert [
        (permission.type, permission.role, permission.email_address, permission.display_name)
        for permission in permissions
    ] == [
        ("group", "owner", None, "Yard Owners"),
        ("group", "writer", None, "Yard Members"),
        ("group", "reader", None, "Yard Visitors"),
        ("user", "writer", BOB, "Bob Stone"),
        ("group", "reader", "team.yard@x.test", permissions[4].display_name),
        ("anyone", "reader", None, None),
        ("domain", "writer", None, None),
    ]


async def test_label_catalogues_of_both_shapes(tenant):
    label = r.Label(
        id="0A000000-0000-4000-8000-000000000001",
        name="Secret",
        description="For few",
        tooltip="Tell nobody",
        color="#FF0000",
        priority=5,
    )
    inner = msgspec.structs.replace(
        label, id=label.id[:-1] + "2", name="Most secret", priority=6, parent=label.id
    )
    tenant.store.put_many([label, inner])

    stable = await tenant.delegated().port.labels.catalogue()
    scopes = ("Sites.Read.All", "InformationProtectionPolicy.Read")
    beta = await tenant.delegated(scopes=scopes).port.labels.catalogue()

    assert stable == beta
    assert [label.display_name for label in stable] == ["Secret", "Most secret"]
    assert stable[0].id == label.id.lower()
    assert (stable[0].sensitivity, stable[0].color) == (5, "#FF0000")
    assert (stable[0].tool_tip, stable[0].description) == ("Tell nobody", "For few")
    assert (stable[0].is_active, stable[0].is_appliable) == (True, False)
    assert stable[1].is_appliable is True


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("SensitivityLabel.Read", "/v1.0/security/dataSecurityAndGovernance/sensitivityLabels"),
        (
            "https://graph.microsoft.com/InformationProtectionPolicy.Read",
            "/beta/me/security/informationProtection/sensitivityLabels",
        ),
    ],
)
async def test_the_catalogue_that_is_permitted_is_asked_for_first(tenant, scope, path):
    await tenant.delegated(scopes=("Sites.Read.All", scope)).port.labels.catalogue()

    assert tenant.paths == [f"GET {path}"]


async def test_tenants_that_do_not_list_labels_have_none(tenant):
    assert await tenant.delegated(scopes=READ).port.labels.catalogue() == ()


@pytest.mark.parametrize("wrapped", [False, True])
async def test_reading_the_label_of_a_file(tenant, wrapped):
    tenant.store.settings.wraps_labels = wrapped
    label = "0A000000-0000-4000-8000-000000000001"
    tenant.store.put(msgspec.structs.replace(tenant.plan, label=label, label_method="auto"))
    locked = tenant.make.file(tenant.boats, "locked.docx", ("docx", "x"))
    tenant.make.save()
    tenant.store.put(msgspec.structs.replace(locked, label_trouble="fileDoubleKeyEncrypted"))
    keys = [key(item) for item in (tenant.plan, tenant.text, tenant.boats, locked, tenant.secret)]

    labels = await tenant.delegated().port.labels.of_files(keys)

    assert [label.label_id for label in labels[keys[0]]] == [label.lower()]
    assert labels[keys[0]][0].assignment_method == "auto"
    assert labels[keys[1]] == ()  # a text file cannot have one
    assert labels[keys[2]] == ()  # nor a folder
    assert labels[keys[3]] is UNKNOWN
    assert labels[keys[4]] is UNKNOWN


async def test_refused_labels_are_unknown(tenant):
    tenant.fault(kind="400", match="extractSensitivityLabels", reason="invalidRequest")

    labels = await tenant.delegated().port.labels.of_files([key(tenant.plan), key(tenant.boats)])

    assert labels == {key(tenant.plan): UNKNOWN, key(tenant.boats): ()}


async def test_throttled_connections_are_not_called(tenant):
    port = tenant.delegated().port
    tenant.fault(kind="429", retryAfter=30, count=1)
    with pytest.raises(Throttled) as raised:
        await port.sites.visible()
    tenant.forget_calls()

    with pytest.raises(Throttled):
        await port.files.get(key(tenant.plan), projection=NAME)

    assert raised.value.retry_after == 30
    assert not tenant.calls


async def test_hidden_lists_are_left_out(tenant):
    port = tenant.delegated().port

    shown = await port.lists.of_site(tenant.yard.id, include_hidden=False)
    every = await port.lists.of_site(tenant.yard.id, include_hidden=True)

    assert {site_list.display_name for site_list in shown} == {"Berths", "Documents", "Drawings"}
    hidden = {site_list.display_name for site_list in every if site_list.hidden}
    assert hidden == {"Hidden", "System"}
    documents = next(site_list for site_list in shown if site_list.display_name == "Documents")
    assert (documents.template, documents.drive) == ("documentLibrary", tenant.documents.drive_id)
    berths = next(site_list for site_list in shown if site_list.display_name == "Berths")
    assert (berths.template, berths.drive, berths.columns) == ("genericList", None, None)


async def test_a_list_is_read_with_its_columns(tenant):
    site_list = await tenant.delegated().port.lists.get(list_key(tenant.berths))

    columns = {column.name: column for column in site_list.columns}
    kinds = {name: columns[name].column_type for name in ("Title", "Length", "Paid", "Until")}
    assert kinds == {"Title": "text", "Length": "number", "Paid": "boolean", "Until": "dateTime"}
    assert columns["State"].column_type == "choice"
    assert columns["Author"].column_type == "person"
    assert columns["ContentType"].column_type == "contentType"
    assert (columns["State"].indexed, columns["Paid"].indexed) == (True, False)
    assert columns["Code"].read_only is True
    assert columns["Title"].required is True
    assert columns["LinkTitleNoMenu"].hidden is True


async def test_list_names_are_no_list_ids(tenant):
    with pytest.raises(Missing):
        await tenant.delegated().port.lists.get(ListKey(tenant.yard.id, "Berths"))
