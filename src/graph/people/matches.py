"""People that sources found, each once: who is meant, and who is left out."""

from datetime import datetime

from msgspec.structs import replace

from graph.people.types import PeopleSource, PersonMatch
from policy.caller import Caller
from providers.mail.query_matching import NameMatcher
from providers.ports.connection import ConnectionInfo
from providers.records.base import EPOCH
from providers.records.mail import Participant
from providers.search_text import fold


class Matches:
    """
    The people of a name, by address.

    The accounts of the caller are left out, and whom the recipient rules of the
    account exclude.
    """

    def __init__(self, name: str, caller: Caller) -> None:
        self._is_meant, self._caller = NameMatcher(name), caller
        self._own = {fold(connection.account_email or "") for connection in caller.connections}
        self._people: dict[str, PersonMatch] = {}

    def add(
        self,
        person: Participant,
        source: PeopleSource,
        info: ConnectionInfo,
        *,
        last_contact: datetime | None = None,
    ) -> None:
        """Add a person if the name is theirs; the latest contact is added first."""
        rules = self._caller.on(info.id).grant.recipients
        if not self._is_meant(person) or not (rules is None or rules.allows(person.email)):
            return
        key = fold(person.email)
        known = self._people.get(key)
        if known is not None:
            sources = known.sources if source in known.sources else (*known.sources, source)
            name = known.name or person.name or None
            self._people[key] = replace(known, name=name, sources=sources)
        elif key not in self._own:
            self._people[key] = PersonMatch(
                email=person.email,
                name=person.name or None,
                last_contact=last_contact,
                connection_id=info.id,
                account=info.account_email,
                sources=(source,),
            )

    def ranked(self) -> list[PersonMatch]:
        """Return the people, by last contact, the latest first, then by address."""
        return sorted(self._people.values(), key=_rank)


def _rank(person: PersonMatch) -> tuple[float, str]:
    return -(person.last_contact or EPOCH).timestamp(), person.email
