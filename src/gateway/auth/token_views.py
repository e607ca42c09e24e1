"""Access tokens as the management API and the command line show them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gateway.auth.token_status import Status
from gateway.store.tables import AccessToken
from policy import containment, grants
from policy.refusals import InvalidInput
from policy.vocabulary import Surface

if TYPE_CHECKING:  # types alone, which take long to import
    from gateway.operations import views


def effective_settings(
    token: AccessToken, ancestors: Sequence[AccessToken]
) -> Mapping[str, object]:
    """Return the settings of *token*, narrowed by those of its *ancestors*."""
    own = grants.Grant.read(token.settings)
    narrower = containment.meet(own, (grants.Grant.read(each.settings) for each in ancestors))
    return containment.narrowed_settings(token.settings, own, narrower)


def surfaces(token: "views.ManagedAccessToken") -> list[str]:
    """Return the surfaces that a token may reach."""
    settings = token.settings
    enabled = {
        Surface.EMAIL: settings.get("emailAccessEnabled") is True,
        Surface.CALENDAR: settings.get("calendarAccessEnabled") is True,
        Surface.TASKS: bool(token.effective_task_operations),
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
        children.setdefault(token.parent_id, []).append(token)

    def below(
        parent_id: int | None, depth: int
    ) -> "Iterator[tuple[int, views.ManagedAccessToken]]":
        for token in children.get(parent_id, ()):
            yield depth, token
            yield from below(token.id, depth + 1)

    return list(below(None, 0))
