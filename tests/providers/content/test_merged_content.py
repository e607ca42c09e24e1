"""Several connections as one."""

from types import SimpleNamespace

import msgspec
import pytest
from collab_upstream import ANN, BOB, FILE, HOST, READ, ROW, WRITE, key, list_key

from policy.wildcards import Wildcard
from providers.collab_ids import ItemKey, ListItemKey
from providers.content.ancestors import MAX_DEPTH, AncestorCache
from providers.content.merged_content import MergedContent
from providers.failures import (
    Conflicted,
    Incomplete,
    Missing,
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TooMuch,
)
from providers.ports.collab import (
    FileQuery,
    InvalidCursor,
    ListItemQuery,
    Order,
    ReadOnlyContent,
    SearchQuery,
    Upload,
)
from providers.records.collab import UNKNOWN, File
from sandbox.collab import records as r

NAME = frozenset({"name"})
BY_NAME = Order(by="name", descending=False)


def merged(*accesses):
    return MergedContent([(access.info, access.port) for access in accesses])


async def single_chunk(body=b"x"):
    yield body


async def names(content, places, *, projection=NAME, limit=25, **query):
    """The names of all files of a listing, page by page."""
    file_names, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await content.files(
            places, FileQuery(limit=limit, **query), cursor=cursor, projection=projection
        )
        file_names += [file.name for file in page.items]
        cursor, pages = page.next, pages + 1
        assert pages < 200
    return file_names


def root(item):
    return ItemKey(item.drive_id, "root")


# -- several connections


async def test_sites_are_merged_and_sorted_by_name(tenant):
    content = merged(tenant.delegated(), tenant.selected(tenant.yard, tenant.board))

    sites = await content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Board", "Company", "Yard"]
    assert sites.failed == ()


async def test_a_list_of_sites_that_is_cut_is_a_warning(tenant, monkeypatch):
    monkeypatch.setattr("providers.connectors.collab.files.sites_and_libraries.MAX_SITES", 200)
    for number in range(250):
        tenant.make.site(HOST, f"/sites/{number}", f"Site {number}")
    tenant.make.save()

    sites = await tenant.delegated().content.sites()

    assert len(sites.items) == 200
    assert [(warning.part, type(warning.failure)) for warning in sites.failed] == [
        ("the list of sites", TooMuch)
    ]


async def test_sites_that_upstream_repeats_are_one(tenant):
    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company", "Yard"]
    assert sites.failed == ()
    assert len(tenant.calls) == 5  # a batch of four


@pytest.fixture
def leaving_out(monkeypatch):
    """The search for all sites leaves out every second one, as it does in a large tenant."""
    monkeypatch.setattr("sandbox.collab.sites.LARGE_TENANT", 0)
    monkeypatch.setattr("sandbox.collab.sites.LEFT_OUT", 2)


INCOMPLETE = [("the list of sites", Incomplete)]


def doubts(sites):
    return [(warning.part, type(warning.failure)) for warning in sites.failed]


@pytest.mark.usefixtures("leaving_out")
async def test_a_site_that_upstream_leaves_out_is_there_when_the_user_follows_it(tenant):
    tenant.store.put(msgspec.structs.replace(tenant.yard, followers=(ANN,)))

    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company", "Yard"]
    assert doubts(sites) == INCOMPLETE


@pytest.mark.usefixtures("leaving_out")
async def test_a_site_that_no_other_source_names_cannot_be_known_to_be_missing(tenant):
    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company"]
    assert sites.failed == ()


async def test_a_missing_personal_site_is_added_without_a_doubt(tenant, monkeypatch):
    monkeypatch.setattr("sandbox.collab.sites.LARGE_TENANT", 0)
    monkeypatch.setattr("sandbox.collab.sites.LEFT_OUT", 3)

    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company", "Yard"]
    assert sites.failed == ()


async def test_a_root_site_that_upstream_leaves_out_is_added(tenant, monkeypatch):
    monkeypatch.setattr("sandbox.collab.sites.LARGE_TENANT", 0)
    monkeypatch.setattr("sandbox.collab.sites.LEFT_OUT", 1)

    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company"]
    assert doubts(sites) == INCOMPLETE


@pytest.mark.parametrize("path", ["/me/followedSites", "/sites/root", "/me/drive"])
async def test_sites_are_listed_when_another_source_fails(tenant, path):
    tenant.fault(kind="500", match=path, count=2)

    sites = await tenant.delegated().content.sites()

    assert [site.display_name for site in sites.items] == ["Ann Miller", "Company", "Yard"]
    assert doubts(sites) == ([] if path == "/me/drive" else INCOMPLETE)


@pytest.mark.parametrize("path", ["/me/followedSites", "/sites/root", "/me/drive"])
async def test_a_source_that_the_account_lacks_is_no_doubt(tenant, path):
    tenant.fault(kind="404", match=path, count=2)

    assert (await tenant.delegated().content.sites()).failed == ()


async def test_a_long_list_of_sites_may_leave_some_out(tenant):
    for number in range(250):
        tenant.make.site(HOST, f"/sites/{number}", f"Site {number}")
    tenant.make.save()

    sites = await tenant.delegated().content.sites()

    assert len(sites.items) == 253
    assert doubts(sites) == INCOMPLETE


async def test_an_id_goes_to_the_connection_that_sees_it(tenant):
    app, user = tenant.selected(tenant.board), tenant.delegated()
    content = merged(app, user)

    letter = await content.item(key(tenant.letter), projection=NAME)
    secret = await content.item(key(tenant.secret), projection=NAME)

    assert (letter.name, secret.name) == ("letter.txt", "minutes.docx")


async def test_delegated_connections_are_called_before_app_only_ones(tenant):
    app = tenant.selected(tenant.yard)
    user = tenant.delegated()
    content = merged(app, user)

    await content.item(key(tenant.plan), projection=NAME)

    assert len(tenant.calls) == 1


async def test_each_file_of_a_batch_comes_from_the_connection_that_sees_it(tenant):
    content = merged(tenant.delegated(), tenant.selected(tenant.board))
    absent = ItemKey(tenant.plan.drive_id, "01NOTHING")
    keys = [key(tenant.plan), key(tenant.secret), key(tenant.letter), absent]

    files = await content.items(keys, projection=NAME)

    assert [file and file.name for file in files.values()] == [
        "Plan é.docx",
        "minutes.docx",
        "letter.txt",
        None,
    ]


async def test_files_behind_a_failing_connection_are_unknown(tenant):
    other = tenant.selected(tenant.board)
    content = merged(tenant.delegated(), other)
    tenant.fault(kind="500", match="$batch", count=2)

    files = await content.items([key(tenant.plan), key(tenant.secret)], projection=NAME)

    assert files[key(tenant.plan)] is UNKNOWN
    assert files[key(tenant.secret)].name == "minutes.docx"


async def test_failed_connections_are_named(tenant):
    broken, fine = tenant.delegated(), tenant.selected(tenant.board)
    tenant.fault(kind="500", match="/sites?search")
    content = merged(broken, fine)

    sites = await content.sites()

    assert [site.display_name for site in sites.items] == ["Board"]
    assert [warning.connection.id for warning in sites.failed] == [broken.info.id]


async def test_failure_of_every_connection_is_raised(tenant):
    tenant.fault(kind="403")
    content = merged(tenant.delegated(), tenant.delegated())

    for call in (
        content.sites(),
        content.all_drives(),
        content.items([key(tenant.plan)], projection=NAME),
        content.file_labels([key(tenant.plan)]),
    ):
        with pytest.raises(ProviderFailure):
            await call


async def test_a_failed_connection_may_hold_the_file(tenant):
    class SignedOutFiles:
        async def get(self, key, *, projection):
            raise NeedsReauth

    signed_out = SimpleNamespace(files=SignedOutFiles())
    user = tenant.delegated()
    content = MergedContent([(tenant.delegated().info, signed_out), (user.info, user.port)])

    assert (await content.item(key(tenant.plan), projection=NAME)).name == "Plan é.docx"
    with pytest.raises(NeedsReauth):
        await content.item(key(tenant.secret), projection=NAME)


async def test_libraries_are_in_the_order_of_their_sites(tenant):
    content = merged(tenant.delegated(), tenant.selected(tenant.board))

    roots = await content.all_drives()

    assert [drive.name for drive in roots.items] == ["OneDrive", "Minutes", "Documents", "Drawings"]
    assert await content.drive_sites([drive.drive for drive in roots.items]) == {
        drive.drive: drive.site for drive in roots.items
    }


async def test_hits_of_connections_follow_each_other(tenant):
    content = merged(tenant.delegated(), tenant.selected(tenant.yard, tenant.board))

    async def search(start, limit):
        query = SearchQuery(
            text="keel", entity_types=frozenset({"driveItem"}), start=start, limit=limit
        )
        return (await content.search(query)).items[0]

    both = await search(0, 25)
    second = await search(1, 25)

    assert [hit.title for hit in both.hits] == ["Plan é.docx", "minutes.docx"]  # yard is told once
    assert both.total == 3
    assert [hit.title for hit in second.hits] == ["minutes.docx"]


# -- writing


async def test_read_only_connections_do_not_write(tenant):
    content = merged(tenant.delegated(scopes=READ, can_write=False))
    taken = []

    async def bytes_():
        taken.append(1)
        yield b"x"

    for call in (
        content.rename(key(tenant.text), "a.txt", etag=None),
        content.upload(key(tenant.boats), Upload(name="a", chunks=bytes_(), size=1)),
        content.create_list_item(list_key(tenant.berths), {"Title": "x"}, projection=ROW),
        content.delete_list_item(ListItemKey(*list_key(tenant.berths), "1"), etag=None),
    ):
        with pytest.raises(ReadOnlyContent):
            await call
    assert content.can_write is False
    assert taken == []
    assert not [call for call in tenant.calls if call["method"] in ("PATCH", "PUT", "DELETE")]


async def test_writing_an_invisible_file_is_missing_and_not_read_only(tenant):
    content = merged(tenant.delegated(scopes=READ, can_write=False))

    with pytest.raises(Missing):
        await content.rename(key(tenant.secret), "a.txt", etag=None)


async def test_writes_go_to_the_writable_connection(tenant):
    reader = tenant.delegated(scopes=READ, can_write=False)
    content = merged(reader, tenant.delegated(scopes=WRITE))

    file = await content.upload(
        key(tenant.boats), Upload(name="a.txt", chunks=single_chunk(), size=1)
    )
    row = await content.create_list_item(list_key(tenant.berths), {"Title": "x"}, projection=ROW)

    assert (file.name, row.name) == ("a.txt", "x")
    assert content.can_write is True


async def test_an_uncertain_write_is_not_tried_on_another_connection(tenant):
    content = merged(tenant.delegated(), tenant.delegated())
    tenant.fault(kind="lostAnswer", method="PATCH", count=1)

    with pytest.raises(ProviderFailure):
        await content.rename(key(tenant.text), "a.txt", etag=None)

    assert sum(call["method"] == "PATCH" for call in tenant.calls) == 1


async def test_a_conflict_is_not_tried_elsewhere(tenant):
    content = merged(tenant.delegated(), tenant.delegated())

    with pytest.raises(Conflicted):
        await content.create_folder(key(tenant.documents), "Boats")

    assert sum(call["method"] == "POST" for call in tenant.calls) == 1


async def test_the_default_library_is_writable(tenant):
    reader = tenant.delegated(scopes=READ, can_write=False)
    content = merged(reader, tenant.selected(tenant.yard))

    assert (await content.default_drive()).name == "Documents"


# -- ancestors


async def test_ancestors_include_every_folder_above(tenant):
    content = tenant.delegated().content

    above = await content.ancestors([key(tenant.plan), key(tenant.text), key(tenant.documents)])

    assert above == {
        key(tenant.plan): {key(tenant.inner), key(tenant.boats), key(tenant.documents)},
        key(tenant.text): {key(tenant.documents)},
        key(tenant.documents): frozenset(),
    }


async def test_ancestors_are_read_once_per_request(tenant):
    content = tenant.delegated().content
    await content.ancestors([key(tenant.plan)])
    tenant.forget_calls()

    await content.ancestors([key(tenant.plan), key(tenant.inner)])
    assert not tenant.calls

    await content.ancestors([key(tenant.plan)], fresh=True)
    assert tenant.calls


async def test_the_files_of_a_deep_folder_cost_the_calls_of_one(tenant):
    folder = tenant.boats
    for number in range(10):
        folder = tenant.make.folder(folder, str(number))
    for number in range(60):
        tenant.make.file(folder, f"{number}.txt", ("text", "x"))
    tenant.make.save()
    content = tenant.delegated().content
    page = await content.files([key(folder)], FileQuery(limit=100), cursor=None, projection=NAME)
    tenant.forget_calls()

    above = await content.ancestors([file.key for file in page.items])

    assert {len(folders) for folders in above.values()} == {12}
    assert sum("$batch" in path for path in tenant.paths) == 1


async def test_unreadable_ancestors_are_unknown(tenant):
    content = tenant.delegated().content
    for where in (tenant.boats.id, ":/Boats"):  # read by its id, or by its place
        tenant.fault(kind="500", match=where)

    above = await content.ancestors([key(tenant.plan), key(tenant.text), key(tenant.secret)])

    assert above[key(tenant.plan)] is UNKNOWN
    assert above[key(tenant.secret)] is UNKNOWN
    assert above[key(tenant.text)] == {key(tenant.documents)}


@pytest.mark.parametrize("depth", [MAX_DEPTH - 1, MAX_DEPTH])
async def test_ancestors_of_too_deep_files_are_unknown(tenant, depth):
    folder = tenant.documents
    for number in range(depth):
        folder = tenant.make.folder(folder, str(number))
    file = tenant.make.file(folder, "deep.txt", ("text", "x"))
    tenant.make.save()

    above = (await tenant.delegated().content.ancestors([key(file)]))[key(file)]

    assert (above is UNKNOWN) == (depth == MAX_DEPTH)


async def test_ancestors_in_a_circle_are_unknown():
    def folder(name, parent):
        return File(drive="d", item=name, parent=ItemKey("d", parent))

    async def read(keys):
        circle = {"a": folder("a", "b"), "b": folder("b", "c"), "c": folder("c", "a")}
        return {key_: circle[key_.item] for key_ in keys}

    starts = [ItemKey("d", "a"), ItemKey("d", "b")]

    assert await AncestorCache().ancestors(starts, read) == dict.fromkeys(starts, UNKNOWN)


async def test_a_move_changes_the_ancestors(tenant):
    content = tenant.delegated().content
    await content.ancestors([key(tenant.text)])

    await content.move(key(tenant.text), key(tenant.inner), etag=None)

    above = await content.ancestors([key(tenant.text)])
    assert above[key(tenant.text)] == {key(tenant.inner), key(tenant.boats), key(tenant.documents)}


# -- listings


@pytest.fixture
def sorted_folder(tenant):
    """Files and folders whose orders all differ."""
    folder = tenant.make.folder(tenant.boats, "Sorted")
    rows = (("b.txt", 1, 5, 9), ("D.docx", 3, 6, 8), ("a.txt", 2, 4, 7), ("É.txt", 9, 9, 6))
    made = [(tenant.make.file(folder, name, ("text", "x" * size)), *rest)
            for name, size, *rest in rows]  # fmt: skip
    made.append((tenant.make.folder(folder, "c"), 3, 5))
    tenant.make.save()
    for item, when, created in made:
        tenant.store.put(
            msgspec.structs.replace(
                item, modified=f"2026-02-0{when}T00:00:00Z", created=f"2026-01-0{created}T00:00:00Z"
            )
        )
    return folder


@pytest.mark.parametrize("limit", [25, 1, 2, 3])
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order(), ["É.txt", "D.docx", "b.txt", "a.txt", "c"]),
        (Order(descending=False), ["c", "a.txt", "b.txt", "D.docx", "É.txt"]),
        (BY_NAME, ["c", "a.txt", "b.txt", "D.docx", "É.txt"]),
        (Order(by="name"), ["c", "É.txt", "D.docx", "b.txt", "a.txt"]),
        (Order(by="created_time"), ["b.txt", "D.docx", "a.txt", "É.txt", "c"]),
        (Order(by="size", descending=False), ["c", "b.txt", "a.txt", "D.docx", "É.txt"]),
    ],
)
async def test_files_are_listed_in_the_requested_order(
    tenant, sorted_folder, order, expected, limit
):
    places = [key(sorted_folder)]
    if limit == 2:  # several places are sorted here, one by upstream
        places.append(key(tenant.make.folder(tenant.boats, "Empty")))
        tenant.make.save()

    listed = await names(tenant.delegated().content, places, order=order, limit=limit)

    assert listed == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"mime_type": Wildcard("text/plain")}, ["a.txt", "b.txt", "É.txt"]),
        ({"mime_type": Wildcard("text/*")}, ["a.txt", "b.txt", "É.txt"]),
        ({"mime_type": Wildcard("*word*")}, ["D.docx"]),
        ({"mime_type": Wildcard("*")}, ["a.txt", "b.txt", "D.docx", "É.txt"]),
        ({"name": "É"}, ["É.txt"]),
        ({"name": "d.DOC"}, ["D.docx"]),
        ({"name": ""}, ["c", "a.txt", "b.txt", "D.docx", "É.txt"]),
    ],
)
@pytest.mark.parametrize("order", [BY_NAME, Order(by="size")])
async def test_files_are_filtered_in_every_order(tenant, sorted_folder, query, expected, order):
    listed = await names(tenant.delegated().content, [key(sorted_folder)], order=order, **query)

    assert sorted(listed) == sorted(expected)


async def test_filters_of_files_by_time(tenant, sorted_folder):
    content = tenant.delegated().content
    edge = (await content.item(key(sorted_folder), projection=FILE)).modified_time

    async def matching_names(**query):
        return await names(content, [key(sorted_folder)], order=BY_NAME, **query)

    d_docx = edge.replace(month=2, day=6, hour=0)
    assert await matching_names(modified_after=d_docx) == ["É.txt"]
    assert await matching_names(modified_before=d_docx) == ["c", "a.txt", "b.txt"]


async def test_several_libraries_are_listed_together(tenant):
    content = tenant.delegated().content
    places = [ItemKey(drive.drive, "root") for drive in (await content.all_drives()).items]

    listed = await names(content, places, order=BY_NAME, limit=2)

    assert listed == ["Boats", "letter.txt", "notes.txt"]


async def test_an_unreadable_library_is_a_warning(tenant):
    content = tenant.delegated().content
    tenant.fault(kind="500", match=tenant.own.drive_id)

    page = await content.files(
        [root(tenant.own), root(tenant.documents)], FileQuery(), cursor=None, projection=NAME
    )

    assert {file.name for file in page.items} == {"Boats", "notes.txt"}
    assert page.warnings == ("A library could not be read.",)


async def test_no_folder_is_an_empty_listing(tenant):
    page = await tenant.delegated().content.files([], FileQuery(), cursor=None, projection=NAME)

    assert (page.items, page.next) == ((), None)
    assert not tenant.calls


async def test_listing_a_missing_folder_is_missing(tenant):
    for order in (BY_NAME, Order()):
        with pytest.raises(Missing):
            await names(tenant.delegated().content, [key(tenant.secret)], order=order)


async def test_searches_cover_whole_subtrees(tenant):
    tenant.make.file(tenant.own, "keel.txt", ("text", "keel"))
    tenant.make.save()
    content = tenant.delegated().content

    listed = await names(
        content, [root(tenant.documents), root(tenant.own)], text="keel", order=BY_NAME
    )

    assert listed == ["keel.txt", "Plan é.docx"]


async def test_search_hits_are_read_again_for_attributes_that_searches_omit(tenant):
    page = await tenant.delegated().content.files(
        [root(tenant.documents)], FileQuery(text="keel"), cursor=None, projection=FILE
    )

    assert [file.parent_folder_name for file in page.items] == [tenant.inner.name]


async def test_searches_read_the_content_types_of_a_page_in_one_batch(tenant):
    for number in range(3):
        tenant.make.file(tenant.inner, f"keel {number}.txt", ("text", "x"))
    tenant.make.save()
    content = tenant.delegated().content
    tenant.forget_calls()

    page = await content.files(
        [root(tenant.documents)],
        FileQuery(text="keel", limit=2),
        cursor=None,
        projection=frozenset({"content_type_id"}),
    )

    assert [file.content_type_id for file in page.items] == ["0x0101", "0x0101"]
    assert [call["path"].rpartition("/")[2] for call in tenant.calls] == [
        "search(q='keel')",
        "$batch",
        *(file.item for file in page.items),
    ]


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_new_files_between_pages_of_an_order_by_time_lose_and_duplicate_nothing(
    tenant, sorted_folder, limit
):
    content = tenant.delegated().content
    query = FileQuery(limit=limit)
    listed, cursor = [], None
    while True:
        page = await content.files([key(sorted_folder)], query, cursor=cursor, projection=NAME)
        listed += [file.name for file in page.items]
        cursor = page.next
        if cursor is None:
            break
        tenant.make.file(sorted_folder, f"0{len(listed)}.txt", ("text", "x"))
        tenant.make.save()

    old = [name for name in listed if not name.startswith("0")]
    assert old == ["É.txt", "D.docx", "b.txt", "a.txt", "c"]
    assert len(set(listed)) == len(listed)


async def test_new_files_between_two_pages_lose_and_duplicate_nothing(tenant, sorted_folder):
    content = tenant.delegated().content
    query = FileQuery(order=BY_NAME, limit=2)
    first = await content.files([key(sorted_folder)], query, cursor=None, projection=NAME)
    tenant.make.file(sorted_folder, "0.txt", ("text", "x"))
    tenant.make.save()

    rest = await content.files([key(sorted_folder)], query, cursor=first.next, projection=NAME)

    assert [file.name for file in first.items] == ["c", "a.txt"]
    assert [file.name for file in rest.items] == ["b.txt", "D.docx"]


@pytest.mark.parametrize("cursor", ["", "x", "g", "g[]", 'g[true,"a","b","c"]', "u", "u1"])
async def test_foreign_cursors_are_invalid(tenant, cursor):
    with pytest.raises(InvalidCursor):
        await tenant.delegated().content.files(
            [key(tenant.boats)], FileQuery(order=Order(by="size")), cursor=cursor, projection=NAME
        )


async def test_throttled_listings_raise_throttled(tenant):
    tenant.fault(kind="429", retryAfter=7)

    with pytest.raises(Throttled) as raised:
        await names(tenant.delegated().content, [root(tenant.own), root(tenant.documents)])

    assert raised.value.retry_after == 7


# -- lists


async def test_lists_are_sorted_by_name(tenant):
    content = merged(tenant.delegated(), tenant.selected(tenant.board))

    lists = await content.lists(tenant.yard.id)
    others = await content.lists(tenant.board.id)

    assert [site_list.display_name for site_list in lists] == ["Berths", "Documents", "Drawings"]
    assert [site_list.display_name for site_list in others] == ["Minutes"]


async def test_list_items_come_from_the_connection_that_sees_them(tenant):
    board_list = tenant.make.list_in(tenant.board, "Board list", (), [{"Title": "x"}])
    tenant.make.save()
    content = merged(tenant.delegated(), tenant.selected(tenant.board))
    keys = [ListItemKey(*list_key(board_list), "1"), ListItemKey(*list_key(tenant.berths), "2")]

    page = await content.list_items(
        list_key(board_list), ListItemQuery(), cursor=None, projection=ROW
    )
    rows = await content.list_items_by_id(
        [*keys, ListItemKey(*list_key(board_list), "9")], projection=ROW
    )

    assert [row.name for row in page.items] == ["x"]
    assert [row and row.name for row in rows.values()] == ["x", "Berth 2", None]


async def test_labels_of_several_tenants_are_merged(tenant):
    label = r.Label(
        id="0a000000-0000-4000-8000-000000000001",
        name="Secret",
        description="",
        tooltip="",
        color="",
        priority=5,
    )
    tenant.store.put(label)

    labels = await merged(tenant.delegated(), tenant.delegated(account=BOB)).labels()

    assert [label.display_name for label in labels.items] == ["Secret"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "calls"),
    [
        pytest.param(Order(), 3, id="in upstream's order, a call per page"),
        pytest.param(BY_NAME, 3, id="sorted here, a call per page and 999 files"),
    ],
)
async def test_upstream_calls_of_a_long_listing(tenant, order, calls):
    """Whatever the rules about folders: what is above is read once, in one call."""
    folder = tenant.make.folder(tenant.inner, "Many")
    for number in range(250):
        tenant.make.file(folder, f"{number:03}.txt", ("text", "x"))
    tenant.make.save()
    content = tenant.delegated().content
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        query = FileQuery(order=order, limit=100)
        page = await content.files([key(folder)], query, cursor=cursor, projection=FILE)
        await content.ancestors([file.key for file in page.items])
        cursor, pages = page.next, pages + 1

    above = 1  # Many, Inner, Boats, and the root
    assert pages == 3
    assert sum(call["batch"] is None for call in tenant.calls) == calls + above
