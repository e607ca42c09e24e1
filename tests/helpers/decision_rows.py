"""Rows of the decision log, with a value for every member."""

from typing import Any

from gateway.audit.decision import Decision


def decision_row(request_id: str, *, at: int, **members: Any) -> Decision:
    """Return the row of an allowed read of mail at *at* (milliseconds), changed by *members*."""
    row = {
        "at": at,
        "request_id": request_id,
        "token_id": 1,
        "operator_id": "op",
        "door": "rest",
        "surface": "email",
        "operation": "emails",
        "resource_id": None,
        "outcome": "allowed",
        "layer": None,
        "code": None,
        "status": 200,
        "rule_id": None,
        "policy_rev": 1,
        "hidden_fields": 0,
        "cost": 1,
        "duration": 1500,
        "upstream_calls": 1,
        "upstream_status": 200,
    }
    return Decision(**{**row, **members})
