"""
Page tokens: sealed positions in lists (docs/spec/paging.md#page-tokens).

A page token is bound to the access token, the root field and a hash of every filter. `limit` and
`includeBody` are not part of the hash: they may change between pages.
"""

import hashlib
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from graph.context import Context
from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.failures import TooMuch

MAX_AGE = 24 * 60 * 60  # seconds
MAX_LENGTH = 4096  # characters

State = TypeVar("State")


class _Sealed(msgspec.Struct, array_like=True, frozen=True):
    issued_at: int
    state: msgspec.Raw


def seal(
    context: Context, route: str, filters: Mapping[str, object], state: object | None
) -> str | None:
    """
    Write *state* (anything msgspec can encode) into a page token; None when nothing follows.

    Raises:
        TooMuch: The token would be longer than 4,096 characters, because of long upstream names
            or cursors. The page can be requested again.
    """
    if state is None:
        return None
    sealed = _Sealed(int(context.now().timestamp()), msgspec.Raw(msgspec.msgpack.encode(state)))
    token = context.sealer.seal(
        msgspec.msgpack.encode(sealed), context=_binding(context, route, filters)
    )
    if len(token) > MAX_LENGTH:
        raise TooMuch("The position of the next page is too long for a page token.")
    return token


def unseal(
    context: Context,
    route: str,
    filters: Mapping[str, object],
    token: str | None,
    kind: type[State],
) -> State | None:
    """
    Return the state in a page token; None without one.

    Raises:
        InvalidInput: `INVALID_PAGE_TOKEN`: the page token is damaged, too old, or of another
            access token, route or set of filters.
    """
    if not token:
        return None
    if len(token) > MAX_LENGTH:
        raise _invalid()
    try:
        payload = context.sealer.unseal(token, context=_binding(context, route, filters))
        sealed = msgspec.msgpack.decode(payload, type=_Sealed)
        state = msgspec.msgpack.decode(sealed.state, type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _invalid() from error
    age = context.now().timestamp() - sealed.issued_at
    if not -1 <= age <= MAX_AGE:
        raise _invalid()
    return state


def _invalid() -> InvalidInput:
    return InvalidInput(
        "The pageToken is not valid for this request.", code=Code.INVALID_PAGE_TOKEN
    )


def _binding(context: Context, route: str, filters: Mapping[str, object]) -> bytes:
    digest = hashlib.sha256(msgspec.json.encode(filters, order="sorted")).digest()
    return msgspec.msgpack.encode(("page", route, context.caller.token_id, digest))
