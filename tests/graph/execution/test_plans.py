"""Plans: masked fields are null unread, requested fields are known, and the cache is bounded."""

import re
from typing import get_args

import msgspec
import pytest
from graphql.execution.values import VariableValues
from paths import REPOSITORY

from graph.documents.operations import CACHED_LENGTH, Graph
from graph.execution.plan import whole_records
from graph.execution.plan.cache import PlanCache
from graph.schema import build
from providers.records.base import Mark, Record
from providers.records.mail import Email, Participant
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS

LIST = """query ListEmails($limit: Int = 20) {
    result: emails(limit: $limit) { emails { id subject body receivedAt } hasMore accessInfo }
}"""
ONE = '{ result: email(emailId: "providerA:a1") { id body from { email } accessInfo } }'


GUIDE = REPOSITORY / "docs" / "guides" / "plans.md"


class Alarmed(Record):
    """A message whose body must not be touched."""

    id: str = "a1"
    touched: list = msgspec.field(default_factory=list)

    @property
    def body(self):
        self.touched.append("body")
        return "a secret"


def json_of(outcome):
    return msgspec.json.encode(outcome.data)


async def test_a_hidden_attribute_is_never_touched(world):
    world.settings["visibleEmailFields"] = ["subject"]
    schema = build()
    record = Alarmed()

    async def resolve(_source, _info, **_arguments):
        return record

    field = schema.query_type.fields["email"]
    original, field.resolve = field.resolve, resolve
    try:
        text = '{ email(emailId: "providerA:a1") { id body } }'
        outcome = await Graph(schema).prepare(text).run({}, world.context())
    finally:
        field.resolve = original

    assert outcome.data == {"email": {"id": "a1", "body": None}}
    assert record.touched == []


async def test_the_answer_is_written_as_the_scalars_say(graph, world):
    outcome = await graph.prepare_rest(LIST).run({"limit": 1}, world.context())

    assert not isinstance(outcome.data["result"], dict)  # read in one step
    assert json_of(outcome) == (
        b'{"result":{"emails":[{"id":"providerA:a1","subject":"Subject a1",'
        b'"body":null,"receivedAt":"2026-11-20T11:59:00Z"}],'
        b'"hasMore":true,"accessInfo":null}}'
    )


@pytest.mark.parametrize("text", [LIST, ONE], ids=["pure", "mixed"])
async def test_a_member_of_omit_when_empty_is_omitted_only_when_empty(graph, world, text):
    operation = graph.prepare_rest(text, omit_when_empty=["accessInfo"])
    free = await operation.run({}, world.context())
    world.settings["visibleEmailFields"] = ["subject", "body"]
    restricted = await operation.run({}, world.context())

    assert b"accessInfo" not in json_of(free)
    assert b'"accessInfo":"' in json_of(restricted)


async def test_an_unexpected_value_is_completed_by_graphql_core(graph, world, email):
    world.mailboxes[1].emails = [email("a1", 1), email("a2", 3, subject=7)]

    outcome = await graph.prepare(LIST).run({"limit": 5}, world.context())

    assert outcome.errors == ()
    subjects = [email["subject"] for email in outcome.data["result"]["emails"]]
    assert subjects == ["Subject a1", "Subject b1", "7"]


async def test_small_records_are_passed_on_where_the_selection_is_all_they_hold(
    graph, world, email
):
    people = (Participant("x@example.com", "X"), Participant("y@example.com"))
    world.mailboxes[1].emails = [email("a1", 1, to=people)]
    text = "{ emails { emails { to { email name } } } }"

    outcome = await graph.prepare_rest(text).run({"limit": 1}, world.context())

    assert [person is known for person, known in zip(_to(outcome), people, strict=True)] == [
        True
    ] * 2
    assert b'"to":[{"email":"x@example.com","name":"X"},{"email":"y@' in json_of(outcome)


@pytest.mark.parametrize("selection", ["name email", "email", "address: email name", "name"])
async def test_other_selections_of_small_records_are_copied(graph, world, email, selection):
    world.mailboxes[1].emails = [email("a1", 1, to=(Participant("x@example.com", "X"),))]
    text = f"{{ emails {{ emails {{ to {{ {selection} }} }} }} }}"

    outcome = await graph.prepare_rest(text).run({"limit": 1}, world.context())

    assert not isinstance(_to(outcome)[0], Participant)


def _to(outcome):
    return outcome.data["emails"].emails[0].to


def test_the_rest_documents_select_all_that_small_records_hold(graph):
    programs = [graph.prepare_rest(document(endpoint.document)).program for endpoint in ENDPOINTS]
    plans = [program.plan(VariableValues({}, {}), frozenset()) for program in programs]
    readers = [step.reader for plan in plans for step in plan.steps.values()]

    passed_on = set().union(*(_marks(reader.passing) for reader in readers))
    assert passed_on == {whole_records._mark(kind) for kind in whole_records.RECORDS.values()}


def _marks(type_):
    """Return the marks within a shape."""
    if isinstance(type_, type) and issubclass(type_, msgspec.Struct):
        inner = [field.type for field in msgspec.structs.fields(type_)]
    else:
        inner = get_args(type_)
    marks = {type_} if isinstance(type_, type) and issubclass(type_, Mark) else set()
    return marks.union(*map(_marks, inner))


async def test_an_unexpected_null_has_the_path_and_location_of_graphql_core(graph, world, email):
    world.mailboxes[1].emails = [email("a1", 1, is_read=None)]

    outcome = await graph.prepare("{ emails { emails { id isRead } } }").run({}, world.context())

    (error,) = outcome.errors
    assert error["path"] == ["emails", "emails", 0, "isRead"]
    assert error["locations"] == [{"line": 1, "column": 24}]
    assert outcome.data == {"emails": None}


async def test_the_plan_has_the_wanted_attributes(graph, world):
    context = world.context()
    await graph.prepare(LIST).run({}, context)

    assert context.plan.projection["result"]["Email"] == {"id", "subject", "body", "received_at"}


def test_the_example_of_the_guide_becomes_the_types_it_shows(graph):
    example = re.search(r"```graphql\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)[1]

    program = graph.prepare(example).program
    plan = program.plan(VariableValues({}, {}), frozenset({"Email.body"}))

    (step,) = plan.steps.values()
    page = msgspec.structs.fields(step.reader.type)
    email = msgspec.structs.fields(page[1].type.__args__[0])
    assert [(member.name, member.encode_name) for member in page[1:]] == [
        ("emails", "emails"),
        ("has_more", "hasMore"),
    ]
    assert [(member.name, member.encode_name) for member in email[1:]] == [
        ("id", "id"),
        ("from_", "sender"),
        ("null_2", "body"),
        ("received_at", "receivedAt"),
    ]
    assert plan.projection["result"]["Email"] == {"id", "from_", "received_at"}


async def test_one_plan_serves_every_token_with_the_same_mask(graph, world):
    operation = graph.prepare(LIST)
    first = world.context()
    await operation.run({}, first)
    world.token_id = 8
    second = world.context()
    await operation.run({"limit": 2}, second)
    world.settings["visibleEmailFields"] = ["subject"]
    masked = world.context()
    await operation.run({}, masked)

    assert first.plan is second.plan
    assert masked.plan is not first.plan


def test_documents_of_the_table_are_planned_at_start_up():
    graph = Graph(build())
    graph.prepare_rest(LIST)

    assert len(graph._internal_plans) == 1


async def test_callers_documents_do_not_evict_the_plans_of_rest_documents(ask, graph):
    internal = len(graph._internal_plans)
    for number in range(3):
        await ask(f"{{ emails {{ totalCount a{number}: hasMore }} }}")

    assert len(graph._internal_plans) == internal
    assert len(graph._plans) >= 3


async def test_a_document_too_long_for_the_cache_is_not_planned(ask, graph):
    before = len(graph._plans)
    status, body = await ask("{ emails { totalCount } } #" + "x" * CACHED_LENGTH)

    assert (status, body["data"]) == (200, {"emails": {"totalCount": 3}})
    assert len(graph._plans) == before


async def test_an_object_with_more_members_than_spare_nulls_is_answered(graph, world):
    members = " ".join(f"m{number}: id" for number in range(70))

    outcome = await graph.prepare(f"{{ emails(limit: 1) {{ emails {{ {members} }} }} }}").run(
        {}, world.context()
    )

    assert outcome.data["emails"]["emails"] == [{f"m{n}": "providerA:a1" for n in range(70)}]


def test_the_cache_evicts_the_least_recently_used_plan():
    plans, made = PlanCache(2), []

    def make(key):
        return plans.get_or_make(key, lambda: made.append(key))

    for key in ("a", "b", "a", "c", "a", "b"):
        make(key)

    assert made == ["a", "b", "c", "b"]
    assert len(plans) == 2


def test_records_have_what_reading_in_one_step_needs():
    assert Email.is_record is msgspec.UNSET
    assert Email.null_0 is None
    assert b"null_" not in msgspec.json.encode(Email(id="a", provider="PROVIDER_A"))


@pytest.mark.slow
@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.document)
def test_a_documented_call_is_read_in_one_step(graph, row):
    operation = graph.prepare_rest(document(row.document))
    plan = operation.program.plan(VariableValues({}, {}), frozenset())

    assert len(plan.steps) + len(plan.mixed_steps) >= 1
    resolved = {
        field.key
        for step in plan.mixed_steps.values()
        for field in step.remaining
        if not field.lists
    }
    assert resolved <= {"accessInfo"}
