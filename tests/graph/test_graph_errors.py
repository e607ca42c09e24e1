"""Every code has a status, every failure a code, and our bugs show nothing."""

import logging

import pytest
from graphql import GraphQLError

from graph import errors
from policy import refusals
from policy.vocabulary import Code, EmailOp, Surface, UnauthorizedReason
from providers import failures

WHERE = {"surface": Surface.EMAIL, "request_id": "req-1"}


def test_every_code_has_a_status():
    assert set(errors.STATUSES) == set(Code)


def test_every_failure_has_a_code():
    every = {
        var
        for var in vars(failures).values()
        if isinstance(var, type) and issubclass(var, failures.ProviderFailure)
    }

    assert set(errors.FAILURE_CODES) == every


@pytest.mark.parametrize(
    ("surface", "status"),
    [
        (Surface.EMAIL, 403),
        (Surface.CALENDAR, 403),
        (Surface.TASKS, 403),
        (Surface.COLLAB, 422),
        (None, 403),
    ],
)
def test_a_missing_flag_is_422_on_collab_alone(surface, status):
    assert errors.status(Code.OPERATION_NOT_ALLOWED, surface) == status


def test_a_refusal_is_reported_with_all_its_details():
    refusal = refusals.InvalidInput(
        "Wrong.",
        code=Code.VALIDATION_ERROR,
        details=[refusals.Detail("to[0].email", "It is required.")],
    )
    refusal.connected_providers = ("monday",)

    assert errors.extensions(refusal, **WHERE) == {
        "code": "VALIDATION_ERROR",
        "httpStatus": 400,
        "requestId": "req-1",
        "details": [{"field": "to[0].email", "message": "It is required."}],
        "connectedProviders": ["monday"],
    }


@pytest.mark.parametrize(
    ("problem", "more"),
    [
        (
            refusals.Unauthenticated(UnauthorizedReason.EXPIRED),
            {"code": "UNAUTHENTICATED", "httpStatus": 401, "reason": "EXPIRED"},
        ),
        (refusals.TooManyRequests(7), {"code": "RATE_LIMITED", "httpStatus": 429, "retryAfter": 7}),
        (
            refusals.OperationNotAllowed(EmailOp.VIEW_EMAIL),
            {
                "code": "OPERATION_NOT_ALLOWED",
                "httpStatus": 403,
                "requiredOperation": "view_email",
                "requiredOperations": ["view_email"],
            },
        ),
        (failures.Throttled(9), {"code": "RATE_LIMITED", "httpStatus": 429, "retryAfter": 9}),
    ],
)
def test_extensions_of_each_problem(problem, more):
    assert errors.extensions(problem, **WHERE) == {"requestId": "req-1", **more}


async def test_an_unexpected_exception_is_neither_shown_nor_logged(ask, world, caplog):
    world.mailboxes[1].failure = RuntimeError("password=hunter2 of ann@example.com")

    with caplog.at_level(logging.DEBUG):
        status, body = await ask('{ email(emailId: "providerA:a1") { subject } }')

    assert status == 200
    assert body["data"] == {"email": None}
    (error,) = body["errors"]
    assert error["message"] == "Internal error. The operator can find its cause by the request id."
    assert error["extensions"] == {
        "code": "INTERNAL_ERROR",
        "httpStatus": 500,
        "requestId": "req-1",
    }
    assert "hunter2" not in caplog.text
    (record,) = [entry for entry in caplog.records if entry.name == "graph"]
    assert (record.kind, record.path, record.request_id) == ("RuntimeError", "email", "req-1")
    assert all("hunter2" not in str(value) for value in vars(record).values())


async def test_an_invalid_record_is_an_internal_error_without_its_text(ask, world, email, caplog):
    world.mailboxes[1].emails = [email("a1", 1, importance="CANARY-urgent")]

    with caplog.at_level(logging.DEBUG):
        _, body = await ask('{ email(emailId: "providerA:a1") { importance } }')

    assert body["errors"][0]["extensions"]["code"] == "INTERNAL_ERROR"
    assert "CANARY" not in str(body)
    assert "CANARY" not in caplog.text


@pytest.mark.parametrize("failure", [failures.Broken(), failures.Missing()])
async def test_refusals_and_failures_are_answers_not_faults(ask, world, caplog, failure):
    world.mailboxes[1].failure = failure

    with caplog.at_level(logging.DEBUG):
        await ask('{ email(emailId: "providerA:a1") { id } emails(limit: 0) { hasMore } }')

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_gateway_error_keeps_its_path():
    error = GraphQLError("secret", path=["emails", "emails", 0], original_error=KeyError("secret"))

    assert errors.describe(error, **WHERE) == {
        "message": errors.INTERNAL,
        "path": ["emails", "emails", 0],
        "extensions": {"code": "INTERNAL_ERROR", "httpStatus": 500, "requestId": "req-1"},
    }
