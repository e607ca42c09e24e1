import pytest

from providers import collab_ids
from providers.collab_ids import ItemKey, ListItemKey, ListKey

SITE = "contoso.example,0f1e2d3c-0000-4000-8000-0123456789ab,00000000-1111-4222-8333-444444444444"
LIST = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"


def test_ids_of_every_kind_round_trip():
    item = ItemKey("b!xY_z-9", "01ABC.!")

    assert collab_ids.split_item(collab_ids.join_item(item)) == item
    assert collab_ids.split_drive(collab_ids.join_drive("b!xY_z-9")) == "b!xY_z-9"
    assert collab_ids.split_site(collab_ids.join_site(SITE)) == SITE
    assert collab_ids.split_list(collab_ids.join_list(ListKey(SITE, LIST))) == ListKey(SITE, LIST)
    assert collab_ids.split_list_item(
        collab_ids.join_list_item(ListItemKey(SITE, LIST, "12"))
    ) == ListItemKey(SITE, LIST, "12")


def test_ids_have_the_documented_form():
    assert collab_ids.join_item(ItemKey("b!d", "01I")) == "collab:drive:b!d:item:01I"
    assert (
        collab_ids.join_list_item(ListItemKey(SITE, LIST, "7"))
        == f"collab:site:{SITE}:list:{LIST}:item:7"
    )


def test_hosts_and_guids_are_lowercased():
    assert collab_ids.split_site(f"collab:site:{SITE.upper()}") == SITE
    assert collab_ids.split_list(f"collab:site:{SITE.upper()}:list:{LIST.upper()}") == (SITE, LIST)


def test_the_root_is_a_folder_but_no_item():
    assert collab_ids.split_item("collab:drive:b!d:item:root") is None
    assert collab_ids.split_folder("collab:drive:b!d:item:root") == ItemKey("b!d", "root")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("drive:b!d:item:01I", id="no prefix"),
        pytest.param("COLLAB:drive:b!d:item:01I", id="prefix in capitals"),
        pytest.param("collab:drive:b!d", id="a library"),
        pytest.param("collab:drive::item:01I", id="no drive"),
        pytest.param("collab:drive:b!d:item:", id="no item"),
        pytest.param("collab:drive:b!d:item:01I:", id="a colon at the end"),
        pytest.param("collab:drive:b!d:item:01I:/a:/content", id="addressed by path"),
        pytest.param("collab:drive:b!d:item:01I/../02J", id="a slash"),
        pytest.param("collab:drive:b!d:item:..", id="two dots for an item"),
        pytest.param("collab:drive:.:item:01I", id="a dot for a drive"),
        pytest.param("collab:drive:b!d:item:01I\n", id="a line break at the end"),
        pytest.param("collab:drive:b!d:item:01I%2F", id="a percent sign"),
        pytest.param("collab:drive:b!d:item:01I?x=1", id="a query"),
        pytest.param("collab:drive:b!d:item:é", id="a letter with an accent"),
        pytest.param(f"collab:drive:b!d:item:{'x' * 257}", id="an item that is too long"),
        pytest.param(f"collab:drive:b!d:item:01I{'x' * 1024}", id="too long in all"),
    ],
)
def test_malformed_item_ids_are_refused(text):
    assert collab_ids.split_item(text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"collab:site:{SITE}:list:{LIST}:item:", id="no number"),
        pytest.param(f"collab:site:{SITE}:list:{LIST}:item:x", id="letters for a number"),
        pytest.param(f"collab:site:{SITE}:list:{LIST}:item:٣", id="a digit of another script"),
        pytest.param(f"collab:site:{SITE}:list:Tasks:item:3", id="a name for a list"),
        pytest.param("collab:site:root:list:x:item:3", id="a word for a site"),
        pytest.param(f"collab:site:-{SITE}:list:{LIST}:item:3", id="a host that begins wrongly"),
    ],
)
def test_malformed_list_item_ids_are_refused(text):
    assert collab_ids.split_list_item(text) is None
