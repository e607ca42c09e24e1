"""The schema of the sandbox is a part of the schema that monday.com publishes."""

import pytest
from graphql import build_schema, is_enum_type, is_input_object_type, validate_schema
from graphql.language import parse
from graphql.validation import validate
from paths import SHARED

from sandbox.boards.column_values import GRAPHQL_TYPES
from sandbox.boards.schema import schema, sdl

PUBLISHED = SHARED / "reference/schemas/monday-2026-10.graphql"
# Fields of versions up to 2026-01 that clients still request.
RETIRED = {
    f"User.{name}"
    for name in (
        *("enabled", "is_admin", "is_guest", "is_pending", "is_view_only", "join_date"),
        *("photo_original", "photo_small", "photo_thumb", "photo_thumb_small", "photo_tiny"),
    )
}
# Documents like those of the connector; see docs/spec/upstream/monday.md.
DOCUMENTS = {
    "boards": """query($limit:Int,$page:Int,$ids:[ID!]){boards(limit:$limit,page:$page,ids:$ids,
        state:active,order_by:used_at){id name description state board_kind type workspace_id
        items_count updated_at url groups{id title color position archived}
        columns{id title type description settings_str archived}}}""",
    "items": """query($b:[ID!],$n:Int!,$q:ItemsQuery){boards(ids:$b){items_page(limit:$n,
        query_params:$q){cursor items{id name state created_at updated_at url creator_id
        group{id title} column_values{id type text value column{title}}}}}}""",
    "next": "query($c:String!,$n:Int!){next_items_page(cursor:$c,limit:$n){cursor items{id}}}",
    "item": """query($i:[ID!]){items(ids:$i){id name state board{id name} group{id title}
        parent_item{id} column_values{id ...on MirrorValue{display_value}}
        updates(limit:25){id body text_body created_at updated_at creator{id name email}
        replies{id body created_at creator{id name}}}}}""",
    "create": """mutation($b:ID!,$g:String,$n:String!,$v:JSON){create_item(board_id:$b,group_id:$g,
        item_name:$n,column_values:$v,create_labels_if_missing:false){id name}}""",
    "change": """mutation($b:ID!,$i:ID,$v:JSON!){change_multiple_column_values(board_id:$b,
        item_id:$i,column_values:$v){id name}}""",
    "comment": "mutation($i:ID,$b:String!){create_update(item_id:$i,body:$b){id}}",
    "delete": "mutation($i:ID){delete_item(item_id:$i){id}}",
}


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.is_file():
        pytest.skip("the published schema is not at hand")
    return build_schema(PUBLISHED.read_text("utf-8"))


def test_the_schema_is_valid():
    assert validate_schema(schema()) == []


@pytest.mark.slow
def test_fields_and_arguments_have_the_published_types(published):
    different = set()
    for name, kind in build_schema(sdl()).type_map.items():
        if name.startswith("__"):
            continue
        other = published.type_map[name]
        if is_enum_type(kind):
            assert kind.values.keys() <= other.values.keys(), name
            continue
        for field_name, field in getattr(kind, "fields", {}).items():
            theirs = other.fields.get(field_name)
            if theirs is None or str(theirs.type) != str(field.type):
                different.add(f"{name}.{field_name}")
                continue
            if is_input_object_type(kind):
                assert field.default_value == theirs.default_value
                continue
            for argument, ours in field.args.items():
                assert str(ours.type) == str(theirs.args[argument].type), (name, field_name)
                assert ours.default_value == theirs.args[argument].default_value

    assert different == RETIRED


def test_types_of_column_values_are_published(published):
    values = published.type_map["ColumnValue"]
    names = {object_.name for object_ in published.get_implementations(values).objects}

    assert set(GRAPHQL_TYPES.values()) <= names
    assert set(GRAPHQL_TYPES) <= set(published.type_map["ColumnType"].values)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_the_connector_are_valid_in_both_schemas(name, published):
    document = parse(DOCUMENTS[name])

    assert validate(schema(), document) == []
    assert validate(published, document) == []
