"""Steps that all collab mutations share: destinations, provider refusals."""

from collections.abc import Awaitable
from typing import TypeVar

from graph.collab.failures import translate_failures
from graph.collab.visibility.access import AccessChecker, AccessibleFile
from policy.refusals import AccessDenied, InvalidInput
from policy.vocabulary import Code
from providers.collab_ids import ItemKey
from providers.failures import Refused

ETAG = frozenset({"etag"})
T = TypeVar("T")

# Upstream's words for a reserved name, a name that ends with a dot, and a path that is too long.
_NAME_REFUSED = frozenset({"nameInvalid", "pathIsTooLong"})


@translate_failures
async def apply_change(
    change: Awaitable[T], *, refusable: bool = False, is_named: bool = False
) -> T:
    """
    Await a change upstream.

    Raises:
        AccessDenied: `PROVIDER_REFUSED`, the provider forbids it, with its reason where known; if
            *refusable*, every refusal of the provider means that.
        InvalidInput: The provider, whose rules are stricter than ours, does not accept the name;
            if *is_named*, every 400 of the provider means that.
    """
    try:
        return await change
    except Refused as refusal:
        is_of_name = is_named and type(refusal) is Refused and refusal.status == 400
        if refusal.word in _NAME_REFUSED or is_of_name:
            raise InvalidInput(
                "The provider does not accept this name.", code=Code.VALIDATION_ERROR
            ) from refusal
        if type(refusal) is Refused and (refusable or refusal.status == 403):
            raise AccessDenied(refusal.message, code=Code.PROVIDER_REFUSED) from refusal
        raise


async def apply_naming(change: Awaitable[T]) -> T:
    """Await a change upstream that gives something a name; see `apply_change`."""
    return await apply_change(change, is_named=True)


async def read_destination(
    access: AccessChecker, key: ItemKey
) -> tuple[AccessChecker, AccessibleFile]:
    """
    Read the folder that a change creates something in, and return its account's access checker.

    Raises:
        InvalidInput: It is not a folder.
    """
    parent = await access.read_parent(key)
    if not parent.file.is_folder:
        access.require_allowed(parent.facts)
        raise invalid_destination("The destination is not a folder.")
    return access.on(parent.file.connection_id), parent


def require_takes_files(parent: AccessibleFile) -> None:
    """Raise InvalidInput for a package; only after the rules have allowed creation in it."""
    if parent.file.is_package:
        raise invalid_destination(
            "The destination is a notebook or another package, which takes no files or folders."
        )


def invalid_destination(message: str) -> InvalidInput:
    """Build the refusal of a destination."""
    return InvalidInput(message, code=Code.INVALID_DESTINATION)
