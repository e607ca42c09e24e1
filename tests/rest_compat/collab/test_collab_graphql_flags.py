"""Every collab field of GraphQL requires the flag of its documented call, and no other."""

import graphql
import pytest
from paths import REPOSITORY
from world import BROKEN

from graph import schema
from graph.masking.guards import requirements
from policy.vocabulary import CollabOp, Surface

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCHEMA = graphql.build_schema((REPOSITORY / "schema.graphql").read_text())
# Field -> its flags, of which one suffices; docs/spec/collab.md#endpoints.
FLAGS = {
    "collabFiles": {"list_files", "search_files"},
    "collabFile": {"get_file_metadata"},
    "collabFileLink": {"download_file"},
    "collabFileText": {"download_file"},
    "collabFilePermissions": {"get_file_metadata"},
    "collabDrives": {"list_files"},
    "collabDrive": {"list_files"},
    "collabSites": {"read_sites"},
    "collabSite": {"read_sites"},
    "collabLists": {"read_lists"},
    "collabList": {"read_lists"},
    "collabListItems": {"read_list_item"},
    "collabListItem": {"read_list_item"},
    "sensitivityLabels": {"read_sensitivity_labels"},
    "fileSensitivityLabel": {"read_sensitivity_labels"},
    "collabSearch": {"search_content"},
    "uploadFile": {"upload_file"},
    "createFolder": {"create_folder"},
    "renameFile": {"rename_file"},
    "moveFile": {"move_file"},
    "deleteFile": {"delete_file"},
    "shareFile": {"share_file"},
    "updateFilePermission": {"update_permissions"},
    "deleteFilePermission": {"update_permissions"},
    "createListItem": {"write_list_item"},
    "updateListItem": {"write_list_item"},
    "deleteListItem": {"delete_list_item"},
}


async def test_the_flag_table_covers_every_field():
    needs = requirements(schema.build())

    assert FLAGS.keys() == {name for name, need in needs.items() if need.surface is Surface.COLLAB}


def value(kind):
    """Return a literal of a type with its required members only."""
    if isinstance(kind, graphql.GraphQLNonNull):
        return value(kind.of_type)
    if isinstance(kind, graphql.GraphQLEnumType):
        return next(iter(kind.values))
    if isinstance(kind, graphql.GraphQLInputObjectType):
        return "{" + required(kind.fields) + "}"
    return {"JSON": "{a: 1}", "FileContent": '"eA=="'}.get(kind.name, '"x"')


def required(arguments):
    return ", ".join(
        f"{name}: {value(argument.type)}"
        for name, argument in arguments.items()
        if graphql.is_required_argument(argument) or graphql.is_required_input_field(argument)
    )


def document(name):
    """Return the shortest document that selects the field."""
    root, word = SCHEMA.query_type, "query"
    if name in SCHEMA.mutation_type.fields:
        root, word = SCHEMA.mutation_type, "mutation"
    field = root.fields[name]
    arguments_text = required(field.args)
    selected = (
        "{ __typename }" if graphql.is_object_type(graphql.get_named_type(field.type)) else ""
    )
    return f"{word} {{ {name}{f'({arguments_text})' if arguments_text else ''} {selected} }}"


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAGS)
async def test_a_field_requires_exactly_its_flag(readonly, name):
    others = [flag for flag in CollabOp if flag not in FLAGS[name]]
    readonly.forget_calls()

    body = await readonly.graphql(
        document(name), await readonly.token(allowedCollabOperations=others)
    )

    (error,) = body["errors"]
    refusal = (error["extensions"]["code"], error["extensions"]["httpStatus"])
    assert refusal == ("OPERATION_NOT_ALLOWED", 422)
    alternatives = error["extensions"]["requiredOperations"]
    assert set(alternatives) == FLAGS[name]
    assert error["extensions"]["requiredOperation"] == alternatives[0]
    for flag in FLAGS[name]:
        token = await readonly.token(allowedCollabOperations=[flag], resources=(BROKEN,))
        (error,) = (await readonly.graphql(document(name), token))["errors"]
        assert error["extensions"]["code"] != "OPERATION_NOT_ALLOWED"
    assert readonly.calls() == []
