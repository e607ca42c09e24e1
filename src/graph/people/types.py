"""Output types of `people`."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import strawberry

from graph.output_types import AccessInfo, masked, output, visible
from graph.scalars import Long
from policy.vocabulary import EmailField
from providers.ports import people
from providers.records.base import Record


@strawberry.enum(graphql_name_from="value", description="Where people are looked for.")
class PeopleSource(StrEnum):
    CORRESPONDENCE = "correspondence"
    CONTACTS = people.CONTACTS
    OTHER_CONTACTS = people.OTHER_CONTACTS
    DIRECTORY = people.DIRECTORY


@strawberry.enum(graphql_name_from="value", description="Whether a name tells who is meant.")
class PeopleOutcome(StrEnum):
    NONE = "none"
    ONE = "one"
    SEVERAL = "several"
    INCOMPLETE = "incomplete"


@output
class PersonMatch(Record, frozen=True, kw_only=True):
    """A person whose name or address has the words that were looked for."""

    email: Annotated[str, visible("The e-mail address.")]
    name: Annotated[str | None, visible("The newest display name that has the words, if any has.")]
    last_contact: Annotated[
        datetime | None,
        masked(
            EmailField.RECEIVED_AT,
            "Of the newest message that was found with this person; null without one.",
        ),
    ]
    connection_id: Annotated[
        int, visible("The connection that knows the person.", graphql_type=Long)
    ]
    account: Annotated[str, visible("The address of its account.")]
    sources: Annotated[tuple[PeopleSource, ...], visible("Where the person was found.")]


@output
class PeopleResult(Record, frozen=True, kw_only=True):
    """The people who may be meant by a name."""

    outcome: Annotated[
        PeopleOutcome,
        visible(
            "`one`: nobody else has this name in what was searched. `incomplete`: at most one was "
            "found, and not everything could be searched."
        ),
    ]
    people: Annotated[
        tuple[PersonMatch, ...], visible("By last contact, the latest first, then by address.")
    ]
    searched: Annotated[tuple[PeopleSource, ...], visible("The sources that were searched.")]
    total_count: Annotated[int, visible("The number of people found, those past the limit too.")]
    access_info: AccessInfo
    auth_warnings: Annotated[
        tuple[str, ...] | None,
        visible("One sentence per source that could not be read; else null."),
    ]
