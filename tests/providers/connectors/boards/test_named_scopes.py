"""Scopes that an error names are kept only when they are written as scopes."""

import pytest

from providers.connectors.boards.failures import Envelope, graphql_errors
from providers.failures import Refused


@pytest.mark.parametrize(
    ("error_data", "scopes"),
    [
        ({"required_scopes": ["boards:write", "updates:write"]}, ("boards:write", "updates:write")),
        ({"required_scopes": ["boards:write", "<b>a mail</b>", 7, None]}, ("boards:write",)),
        ({"required_scopes": ["a:b"] * 99}, ("a:b",) * 10),
        ({"required_scopes": "boards:write"}, ()),
        ({}, ()),
        (None, ()),
        ([], ()),
    ],
)
def test_only_scopes_are_named(error_data, scopes):
    extensions = {"code": "missingRequiredPermissions", "error_data": error_data}
    (error,) = graphql_errors(Envelope(errors=[{"message": "No.", "extensions": extensions}]))

    assert isinstance(error.failure, Refused)
    assert (error.failure.status, error.failure.scopes) == (403, scopes)
