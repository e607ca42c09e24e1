"""Access tokens as the management API and the command line show them."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, cast

from gateway.auth.token_status import Status, status
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy import containment, describe, grants
from policy.refusals import InvalidInput
from policy.settings import DEFAULTS
from policy.vocabulary import Surface

if TYPE_CHECKING:  # types alone, which take long to import
    from gateway.operations import settings_views, views


def view_of(
    token: AccessToken,
    ancestors: Sequence[AccessToken],
    resource_ids: list[int],
    blocking: AbstractSet[int | None],
) -> "views.ManagedAccessToken":
    """
    Return the object of the management API.

    Args:
        token: The token.
        ancestors: Its parent first.
        resource_ids: Ascending.
        blocking: The ids of the tokens that have a block rule.
    """
    settings = effective_settings(token, ancestors)
    has_block_rules = any(each.id in blocking for each in (token, *ancestors))
    return {
        "id": token.id or 0,
        "name": token.name,
        "keyId": token.key_id,
        "operatorId": token.operator_id,
        "parentId": token.parent_id,
        "resourceIds": resource_ids,
        "status": status(token, timestamps.now_ms()),
        "createdAt": timestamps.to_text(token.created_at),
        "expiresAt": timestamps.optional_text(token.expires_at),
        "revokedAt": timestamps.optional_text(token.revoked_at),
        "lastUsedAt": timestamps.optional_text(token.last_used_at),
        "settings": cast("settings_views.TokenSettings", {**DEFAULTS, **settings}),
        **grants.effective_operations(settings),
        "warnings": describe.warnings(grants.Grant.read(settings), has_block_rules=has_block_rules),
    }


def effective_settings(
    token: AccessToken, ancestors: Sequence[AccessToken]
) -> Mapping[str, object]:
    """Return the settings of *token*, narrowed by those of its *ancestors*."""
    own = grants.Grant.read(token.settings)
    narrower = containment.meet(own, (grants.Grant.read(each.settings) for each in ancestors))
    return containment.narrowed_settings(token.settings, own, narrower)


def surfaces(token: "views.ManagedAccessToken") -> list[str]:
    """Return the surfaces that a token may reach."""
    settings = token["settings"]
    enabled = {
        Surface.EMAIL: settings.get("emailAccessEnabled") is True,
        Surface.CALENDAR: settings.get("calendarAccessEnabled") is True,
        Surface.TASKS: bool(token["effectiveTaskOperations"]),
        Surface.COLLAB: settings.get("collabAccessEnabled") is True,
    }
    return [surface.value for surface, is_enabled in enabled.items() if is_enabled]


def status_of(word: str | None) -> Status | None:
    """
    Return the status of this name; None for None.

    Raises:
        InvalidInput: There is no such status.
    """
    if word is not None and word not in list(Status):
        raise InvalidInput(f"status must be one of: {', '.join(Status)}.")
    return None if word is None else Status(word)


def in_tree_order(
    listed: "Sequence[views.ManagedAccessToken]",
) -> "list[tuple[int, views.ManagedAccessToken]]":
    """Return all tokens with their number of ancestors: by id, each before its descendants."""
    children: dict[int | None, list[views.ManagedAccessToken]] = {}
    for token in listed:
        children.setdefault(token["parentId"], []).append(token)

    def below(
        parent_id: int | None, depth: int
    ) -> "Iterator[tuple[int, views.ManagedAccessToken]]":
        for token in children.get(parent_id, ()):
            yield depth, token
            yield from below(token["id"], depth + 1)

    return list(below(None, 0))
