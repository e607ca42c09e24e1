"""Port of the people that an account knows beyond its messages: docs/spec/people.md."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol

from providers.records.mail import Participant

CONTACTS, OTHER_CONTACTS, DIRECTORY = "contacts", "other_contacts", "directory"


class PeoplePage(NamedTuple):
    """People that one call found; not each of them must have the name."""

    people: Sequence[Participant]
    is_complete: bool


class PeoplePort(Protocol):
    """The people of one account."""

    @property
    def scopes(self) -> Mapping[str, AbstractSet[str]]:
        """Source -> the scopes each of which suffices, in lower case and without their path."""

    async def search(self, source: str, name: str) -> PeoplePage:
        """Search a source in one call; raises members of `providers.failures`."""
