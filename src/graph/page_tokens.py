"""
Page tokens: where a list stands, sealed so that nobody can read, change or reuse it elsewhere.

A token is bound to the access token, the root field and a hash of every filter (not `limit`, not
`includeBody`: those may change between pages). Source: decisions 0 and 16.
"""

import hashlib
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from graph.context import Context
from policy.refusals import InvalidInput
from policy.vocabulary import Code
from providers.failures import TooMuch

MAX_AGE = 24 * 60 * 60  # seconds; decisions 0
MAX_LENGTH = 4096  # characters; decisions 0

State = TypeVar("State")


class _Sealed(msgspec.Struct, array_like=True, frozen=True):
    issued_at: int
    state: msgspec.Raw


def seal(context: Context, route: str, filters: Mapping[str, object], state: object) -> str:
    """
    Write *state* (anything msgspec can encode) into a page token.

    Raises:
        TooMuch: The token would be longer than 4,096 characters, as what upstream calls things is
            longer than anybody foresaw. The page can be asked for again.
    """
    sealed = _Sealed(int(context.now().timestamp()), msgspec.Raw(msgspec.msgpack.encode(state)))
    token = context.sealer.seal(
        msgspec.msgpack.encode(sealed), context=_binding(context, route, filters)
    )
    if len(token) > MAX_LENGTH:
        raise TooMuch("The place where this page ends is too long for a page token.")
    return token


def unseal(
    context: Context, route: str, filters: Mapping[str, object], token: str, kind: type[State]
) -> State:
    """
    Read the state back.

    Raises:
        InvalidInput: `INVALID_PAGE_TOKEN`: damaged, too old, or made for another token, route or
            set of filters. All are the same answer.
    """
    try:
        payload = context.sealer.unseal(token, context=_binding(context, route, filters))
        sealed = msgspec.msgpack.decode(payload, type=_Sealed)
        state = msgspec.msgpack.decode(sealed.state, type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _invalid() from error
    age = context.now().timestamp() - sealed.issued_at
    if len(token) > MAX_LENGTH or not -1 <= age <= MAX_AGE:
        raise _invalid()
    return state


def _invalid() -> InvalidInput:
    return InvalidInput(
        "The pageToken is not valid for this request.", code=Code.INVALID_PAGE_TOKEN
    )


def _binding(context: Context, route: str, filters: Mapping[str, object]) -> bytes:
    digest = hashlib.sha256(msgspec.json.encode(filters, order="sorted")).digest()
    return msgspec.msgpack.encode(("page", route, context.caller.token_id, digest))
