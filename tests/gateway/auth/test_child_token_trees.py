"""Trees of tokens for operators, and children in the comparison of a restore."""

from types import SimpleNamespace

from gateway.auth.token_views import in_tree_order
from gateway.operations.restored_access import access_of, wider_access


def test_each_token_stands_before_its_descendants():
    parents = {1: None, 2: 1, 3: None, 4: 2, 5: 1}
    listed = [SimpleNamespace(id=number, parent_id=parent) for number, parent in parents.items()]

    ordered = [(depth, token.id) for depth, token in in_tree_order(listed)]
    assert ordered == [(0, 1), (1, 2), (2, 4), (1, 5), (0, 3)]


def rows(*, of_parent, revoked=None):
    """Return the rows of token 1 and its child 2, which has every operation of mail itself."""

    def token(number, parent, settings, revoked_at):
        return {
            "id": number,
            "name": f"t{number}",
            "operator_id": "o",
            "parent_id": parent,
            "settings": settings,
            "digest": bytes([number]),
            "previous_digest": None,
            "previous_until": None,
            "expires_at": None,
            "revoked_at": revoked_at,
        }

    return {
        "access_tokens": [
            token(1, None, of_parent, revoked),
            token(2, 1, {"allowedEmailOperations": ["all"]}, None),
        ],
        "token_resources": [],
        "collab_rules": [],
        "operator_resources": [],
        "connections": [],
    }


def test_a_restored_parent_widens_its_child():
    narrow = access_of(rows(of_parent={"allowedEmailOperations": []}), 1000)
    wide = access_of(rows(of_parent={"allowedEmailOperations": ["all"]}), 1000)

    reasons = ["settings allow more: allowedEmailOperations"]
    assert [(row["id"], row["reasons"]) for row in wider_access(narrow, wide, 1000)] == [
        (1, reasons),
        (2, reasons),
    ]
    assert wider_access(wide, narrow, 1000) == []


def test_a_child_whose_parent_is_revoked_is_not_usable_now():
    revoked = access_of(rows(of_parent={}, revoked=5), 1000)
    living = access_of(rows(of_parent={}), 1000)

    assert [(row["id"], row["reasons"]) for row in wider_access(revoked, living, 1000)] == [
        (1, ["it is revoked now"]),
        (2, ["it is revoked now"]),
    ]
