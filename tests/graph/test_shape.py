"""The shape of a token: what it can use of the schema, and nothing about anything else."""

import copy
from dataclasses import dataclass, replace

import graphql
import pytest
from paths import REPOSITORY

from graph import schema
from graph.masking import guards
from graph.shape import capabilities_of, masked_by, shape_of
from policy.caller import Caller
from policy.grants import Grant
from policy.rules import RuleSet
from policy.settings import DEFAULTS
from policy.vocabulary import CalendarField, CollabField, EmailField

SCHEMA = schema.build()
KINDS = ("email", "calendar", "tasks", "collab")
EVERYTHING = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "calendarAccessEnabled": True,
    "calendarAccessLevel": "full_access",
    "allowedTaskOperations": ["all"],
    "collabAccessEnabled": True,
    "allowedCollabOperations": ["all"],
    "allowChildren": True,
    "subscriptionsEnabled": True,
}
# Root fields that are open to every token.
OPEN = {
    "person",
    "lastContact",
    "links",
    "related",
    "accessToken",
    "childTokens",
    "pendingWrite",
    "revokeChildToken",
}
# Types of the fields that are open to every token; those of links lead to nothing here.
SHOWN_TO_EVERYBODY = (
    *(
        "Query",
        "Mutation",
        "AccessToken",
        "TokenConnection",
        "ConnectionCause",
        "PendingWrite",
        "Person",
        "LastContact",
    ),
    *("ChildToken", "ChildTokenList", "RevokedChildToken", "Related", "Links", "TaskItemLink"),
    *("String", "Int", "Boolean", "Long", "DateTime", "JSON"),
)
OF_MAIL = (
    *("Email", "EmailPage", "EmailAttachment", "Attachment", "Participant", "ThreadPage"),
    "FileText",
    *("ThreadEntry", "BodyType", "Importance", "MailProvider"),
    *("Change", "ChangeFailure", "ChangeKind", "ChangePage", "ChangeSurface", "UpTo"),
    *("PeopleResult", "PersonMatch", "PeopleOutcome", "PeopleSource"),
)
MAIL_READER = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["search_emails", "view_email"],
}


@dataclass
class Connected:
    kind: str
    id: int = 1
    provider: str = "PROVIDER_A"
    status: str = "active"
    can_write: bool = True
    account_email: str = "me@world.example"
    reconnect_url: str | None = None
    selected_site_ids: tuple[str, ...] = ()


def caller(settings, kinds=KINDS, **more):
    return Caller(
        token_id=1,
        token_name="test",
        key_id="agw_1",
        expires_at=None,
        policy_rev=1,
        operator_id="o",
        grant=Grant.read(settings),
        settings=settings,
        connections=tuple(map(Connected, kinds)),
        **more,
    )


def shape(settings, kinds=KINDS):
    return shape_of(SCHEMA, caller(settings, kinds))


def root_fields(shaped):
    roots = (shaped.query_type, shaped.mutation_type)
    return {name for root in roots if root is not None for name in root.fields}


def test_a_token_that_may_do_everything_sees_the_committed_schema():
    committed = (REPOSITORY / "schema.graphql").read_text()

    assert schema.sdl_of(shape(EVERYTHING)) == committed


def test_a_token_that_may_do_nothing_sees_its_own_settings():
    shaped = shape({}, kinds=())

    assert root_fields(shaped) == OPEN
    assert list(shaped.type_map["Person"].fields) == ["email", "lastContact"]
    assert "Email" not in shaped.type_map


def test_a_mail_reader_sees_mail_alone():
    shaped = shape(MAIL_READER, kinds=("email",))

    mail = {
        *("emails", "email", "emailAttachment", "emailAttachmentText", "emailThreads", "people"),
        "changes",
    }
    assert root_fields(shaped) == {*mail, *OPEN}
    own = {name for name in shaped.type_map if not name.startswith("__")}
    assert own == {*SHOWN_TO_EVERYBODY, *OF_MAIL}
    assert list(shaped.type_map["Person"].fields) == [
        *("email", "emails", "sent", "received", "threads", "lastContact")
    ]
    assert list(shaped.type_map["LastContact"].fields) == ["address", "email"]
    assert list(shaped.type_map["Related"].fields) == [
        *("participants", "from", "to", "text", "emails", "links")
    ]
    assert list(shaped.type_map["TaskItemLink"].fields) == ["url"]
    assert "thread" not in shaped.type_map["Email"].fields


@pytest.mark.parametrize(("more", "most"), [((), 26), (("view_thread",), 27)])
def test_the_sdl_of_a_mail_reader_is_a_quarter_of_the_whole(more, most):
    """
    Without any description it is as large a part: see docs/guides/benchmarks.md.

    That edges take the arguments of `emails` again makes the most of it.
    """
    settings = {**MAIL_READER, "allowedEmailOperations": ["search_emails", "view_email", *more]}
    shaped = schema.sdl_of(shape(settings, kinds=("email",)))

    assert 100 * len(shaped) / len(schema.sdl()) < most


def test_arguments_of_edges_are_described_where_their_root_field_is():
    sdl = schema.sdl_of(shape(MAIL_READER, kinds=("email",)))

    assert sdl.count('"""Sender: address, its beginning, or @domain."""') == 1
    assert "  threads(after: DateTime = null, before: DateTime = null, limit: Int = 20," in sdl
    introspected = shape(MAIL_READER).type_map["Person"].fields["received"].args["from"]
    assert introspected.description == "Sender: address, its beginning, or @domain."


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_without_a_connection_leaves(kind):
    needs = guards.requirements(SCHEMA)
    shaped = shape(EVERYTHING, kinds=[other for other in KINDS if other != kind])

    assert root_fields(shaped) == {name for name, need in needs.items() if need.surface != kind}


def test_a_masked_field_stays_nullable_and_is_marked():
    fields = [word for word in EmailField if word not in {"body", "from", "to", "cc"}]
    shaped = shape({**EVERYTHING, "visibleEmailFields": fields})
    body = shaped.type_map["Email"].fields["body"]
    sdl = schema.sdl_of(shaped)

    assert body.description == (
        "The body; null unless `includeBody` is true.\n\n"
        "Hidden from this token by the mask word `body`."
    )
    assert str(body.type) == "String"
    assert '  body: String @masked(by: "body")\n' in sdl
    assert '  participants: [Participant!] @masked(by: "from, to, cc")\n' in sdl
    assert "directive @masked(by: String!) on FIELD_DEFINITION" in sdl
    assert masked_by(shaped.type_map["Email"].fields["subject"]) is None
    graphql.build_schema(sdl)


def test_everything_masked_is_nullable():
    hidden = {f"visible{name}Fields": [] for name in ("Email", "Calendar", "Task", "Collab")}
    shaped = shape({**EVERYTHING, **hidden})
    masked = {
        f"{type_.name}.{name}": field
        for type_ in shaped.type_map.values()
        if isinstance(type_, graphql.GraphQLObjectType)
        for name, field in type_.fields.items()
        if masked_by(field)
    }

    assert {"Email.subject", "Person.sent", "Query.freeBusy"} <= masked.keys()
    assert not any(graphql.is_non_null_type(field.type) for field in masked.values())


def test_a_filter_that_reveals_a_hidden_field_leaves():
    hidden = {**EVERYTHING, "visibleEmailFields": ["subject", "to"]}
    arguments = shape(hidden).query_type.fields["emails"].args
    sent = shape(hidden).type_map["Person"].fields["sent"]
    basic = shape({**hidden, "maskMode": "basic"}).query_type.fields["emails"].args

    assert {"subject", "to"} <= arguments.keys()
    assert not {"from", "label", "after", "before"} & arguments.keys()
    assert masked_by(sent) == "from"
    assert {"from", "label", "after", "before"} <= basic.keys()


@pytest.mark.parametrize(
    ("setting", "last", "root", "argument"),
    [
        ("visibleEmailFields", EmailField.CC, "emails", "q"),
        ("visibleCalendarFields", CalendarField.LOCATION, "calendarEvents", "q"),
        ("visibleCollabFields", CollabField.SIZE, "collabFiles", "orderBy"),
    ],
)
def test_an_argument_that_may_look_at_nothing_leaves(setting, last, root, argument):
    """While one of the fields that it looks at is visible, it stays."""
    some, none = ({**EVERYTHING, setting: visible} for visible in ([last], []))

    assert argument in shape(some).query_type.fields[root].args
    assert argument not in shape(none).query_type.fields[root].args
    assert argument in shape({**none, "maskMode": "basic"}).query_type.fields[root].args


def test_a_query_by_hidden_columns_leaves():
    visible = [word for word in CollabField if word is not CollabField.FIELD_VALUES]
    arguments = (
        shape({**EVERYTHING, "visibleCollabFields": visible})
        .query_type.fields["collabListItems"]
        .args
    )

    assert "selectFields" in arguments  # accepted, without effect
    assert not {"filter", "orderBy"} & arguments.keys()


def test_a_reply_that_reads_hidden_recipients_is_marked_or_leaves():
    hidden = {**EVERYTHING, "visibleEmailFields": ["from"]}
    shaped = shape(hidden)
    without_sender = shape({**EVERYTHING, "visibleEmailFields": ["to"]}).mutation_type.fields
    basic = shape({**hidden, "maskMode": "basic"})

    assert masked_by(without_sender["replyToEmail"]) == "from"
    assert masked_by(shaped.mutation_type.fields["replyToEmail"]) is None
    assert "replyAll" not in shaped.type_map["ReplyEmailInput"].fields
    assert "replyAll" in basic.type_map["ReplyEmailInput"].fields


@pytest.mark.parametrize("mode", ["strict", "basic"])
def test_an_attachment_that_is_hidden_is_marked_in_every_mode(mode):
    shaped = shape({**EVERYTHING, "visibleEmailFields": ["subject"], "maskMode": mode})

    assert masked_by(shaped.query_type.fields["emailAttachment"]) == "attachments"


def test_a_member_of_an_input_leaves_with_its_operation():
    members = shape({**EVERYTHING, "allowedEmailOperations": ["mark_as_read"]}).type_map

    assert list(members["ModifyEmailInput"].fields) == ["markAsRead"]


def test_rules_scopes_and_accounts_change_nothing():
    first = caller({**EVERYTHING, "collabAllowAllDefault": True})
    limits = {"timeframePastDays": 3, "allowedCalendarIds": [1], "quota": {"perMinute": 5}}
    second = replace(
        caller({**EVERYTHING, **limits, "taskBoards": [], "allowedConnectionIds": [9]}),
        token_id=2,
        operator_id="p",
        connections=tuple(
            Connected(
                kind, id=7, provider="PROVIDER_B", status="error", account_email="x@y.example"
            )
            for kind in reversed(KINDS)
        ),
        rules=RuleSet.compile((), allow_by_default=True),
    )

    assert capabilities_of(SCHEMA, first) == capabilities_of(SCHEMA, second)
    assert shape_of(SCHEMA, first) is shape_of(SCHEMA, second)


def definitions(node):
    """Drop descriptions: the arguments of an edge are described at its root field alone."""
    if isinstance(node, list):
        return [definitions(item) for item in node]
    if isinstance(node, dict):
        return {key: definitions(value) for key, value in node.items() if key != "description"}
    return node


@pytest.mark.parametrize(
    "masked", [pytest.param(False, id="visible"), pytest.param(True, id="masked")]
)
def test_the_sdl_has_the_definitions_that_strawberry_prints(masked):
    hidden = {name: [] for name in DEFAULTS if name.startswith("visible")} if masked else {}
    shaped = shape({**EVERYTHING, **hidden})
    printer = copy.copy(schema._strawberry_schema())
    printer._schema = shaped

    ours, theirs = (
        graphql.utilities.ast_to_dict(graphql.parse(sdl))
        for sdl in (schema.sdl_of(shaped), printer.as_str())
    )
    assert definitions(ours) == definitions(theirs)
