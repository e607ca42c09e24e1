"""The request log: the root fields of a request, and the layer that denied it."""

import pytest

from graph.request_log import WHOLE_REQUEST, Denial, RequestLog
from policy.refusals import Refusal
from policy.vocabulary import Code, Layer, Surface
from providers.failures import Throttled


@pytest.fixture
def request_log():
    return RequestLog()


@pytest.fixture
def left(ask, request_log):
    """Run a document; returns the status and what it left."""

    async def run(query, variables=None, **changes):
        status, _ = await ask(query, variables, request_log=request_log, **changes)
        return status, request_log

    return run


def stopped(layer, code, status):
    return Denial(layer=layer, code=code, status=status)


async def test_each_root_field_is_logged_with_its_resource_id(left):
    document = """query ($id: String!) {
        emails { hasMore }
        ...rest
    }
    fragment rest on Query {
        one: email(emailId: $id) { subject }
        ... on Query { emailThread(threadId: "talk") { subject } }
        accessToken { id }
        __typename
    }"""

    _, request_log = await left(document, {"id": "providerA:a1"})

    assert [
        (field.key, field.name, field.surface, field.writes, field.resource(request_log.variables))
        for field in request_log.fields
    ] == [
        ("emails", "emails", Surface.EMAIL, False, None),
        ("one", "email", Surface.EMAIL, False, "providerA:a1"),
        ("emailThread", "emailThread", Surface.EMAIL, False, "talk"),
        ("accessToken", "accessToken", None, False, None),
    ]


@pytest.mark.parametrize(
    ("variables", "resource"),
    [
        ({}, "collab:site:default"),
        ({"site": None}, None),
        ({"folder": "collab:drive:d"}, "collab:drive:d"),
        ({"folder": None, "site": "collab:site:s"}, "collab:site:s"),
    ],
    ids=["a default", "null instead of it", "the narrower one", "the only one"],
)
async def test_the_narrowest_given_id_is_logged(left, variables, resource):
    document = """query ($folder: String, $site: String = "collab:site:default") {
        collabFiles(folderId: $folder, siteId: $site) { hasMore }
    }"""

    _, request_log = await left(document, variables)

    assert [field.resource(request_log.variables) for field in request_log.fields] == [resource]


async def test_skipped_root_fields_are_not_logged(left):
    _, request_log = await left(
        "query ($no: Boolean!) { emails @include(if: $no) { hasMore } accessToken { id } }",
        {"no": False},
    )

    assert [field.name for field in request_log.fields] == ["accessToken"]
    assert request_log.denials == {}


async def test_each_denied_field_is_logged_with_its_layer(left, world):
    world.settings["allowedEmailOperations"] = ["search_emails", "view_email"]
    _, request_log = await left(
        """{
            emails(limit: 1) { hasMore }
            bad: emails(limit: 0) { hasMore }
            gone: email(emailId: "providerA:none") { subject }
            emailThread(threadId: "providerA:talk-a1") { subject }
            calendars { calendars { calendarId } }
        }"""
    )

    assert request_log.denials == {
        "bad": stopped(Layer.INPUT, Code.INVALID_PARAMETER, 400),
        "gone": stopped(Layer.UPSTREAM, Code.NOT_FOUND, 404),
        "emailThread": stopped(Layer.OPERATION, Code.OPERATION_NOT_ALLOWED, 403),
        "calendars": stopped(Layer.SURFACE, Code.CALENDAR_NOT_ENABLED, 422),
    }


async def test_an_upstream_throttle_is_logged_in_the_upstream_layer(left, world):
    for mailbox in world.mailboxes.values():
        mailbox.failure = Throttled(7)

    _, request_log = await left("{ emails { hasMore } }")

    assert request_log.denials == {"emails": stopped(Layer.UPSTREAM, Code.RATE_LIMITED, 429)}


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        ("{ emails {", None, Code.GRAPHQL_PARSE_FAILED),
        ("{ nothing }", None, Code.GRAPHQL_VALIDATION_FAILED),
        ("query ($n: Int) { emails(limit: $n) { hasMore } }", {"n": "x"}, Code.INVALID_PARAMETER),
        (
            'mutation { a: deleteEmail(emailId: "1") { success } '
            'b: deleteEmail(emailId: "2") { success } }',
            None,
            Code.QUERY_TOO_COSTLY,
        ),
    ],
    ids=["no document", "an unknown field", "a wrong variable", "two mutations"],
)
async def test_a_request_that_cannot_run_is_denied_as_a_whole(left, query, variables, code):
    status, request_log = await left(query, variables)

    assert (status, request_log.denials) == (400, {WHOLE_REQUEST: stopped(Layer.INPUT, code, 400)})


class NobodyWatches(Refusal):
    code = Code.OVERLOADED


async def test_a_mutation_does_not_run_without_log_capacity(left, world):
    checks = []

    async def overloaded():
        checks.append(len(checks))
        raise NobodyWatches("Not now.")

    await left("{ emails { hasMore } }", wait_for_capacity=overloaded)
    world.mailboxes[1].calls.clear()
    status, request_log = await left(
        'mutation { deleteEmail(emailId: "providerA:a1") { success } }',
        wait_for_capacity=overloaded,
    )

    assert checks == [0]  # reading needs no capacity
    assert (status, world.mailboxes[1].calls) == (503, [])
    assert request_log.denials == {
        WHOLE_REQUEST: stopped(Layer.ADDRESS_LIMIT, Code.OVERLOADED, 503)
    }


def test_its_representation_shows_no_content():
    log = RequestLog(variables={"subject": "A secret subject"})
    assert repr(log) == "<RequestLog>"
