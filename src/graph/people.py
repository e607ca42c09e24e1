"""
The root fields `person` and `lastContact`: people by address, who need not be known to anybody.

Nothing is read for them, so they reveal nothing; edges lead on from them.
"""

from typing import Annotated

import strawberry

from graph.context import Info
from graph.masking import wellformed
from graph.masking.guards import unguarded
from policy.refusals import InvalidInput
from providers.records.base import Record


class PersonView(Record, frozen=True, kw_only=True):
    email: str


@strawberry.type(
    description="A person with an e-mail address, who need not be known to the gateway."
)
class Person:
    email: str = strawberry.field(description="The address as in the request.")


class LastContactView(Record, frozen=True, kw_only=True):
    address: str


@strawberry.type(description="The last contact with a person, by mail and in person.")
class LastContact:
    address: str = strawberry.field(description="The address of the person.")


@unguarded(returns=Person)
async def person(
    info: Info, email: Annotated[str, strawberry.argument(description="A complete address.")]
) -> PersonView:
    """Name a person; nothing is read but what is selected of it."""
    return PersonView(email=_address(info, "person", email))


@unguarded(returns=LastContact)
async def last_contact(
    info: Info, email: Annotated[str, strawberry.argument(description="A complete address.")]
) -> LastContactView:
    """Lead to the newest message and the newest event with a person; only what is selected."""
    return LastContactView(address=_address(info, "lastContact", email))


def _address(info: Info, root: str, email: str) -> str:
    wellformed.check({"email": email}, root=root, called=info.argument_name)
    local, _, domain = email.strip().rpartition("@")
    if not local or not domain:
        raise InvalidInput("email must be a complete address.")
    return email.strip()
