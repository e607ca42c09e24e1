"""Provider A's labels: ids and names of one account, remembered for a while."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.response_types import Label, LabelsResponse
from providers.failures import Conflicted, Missing
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.search_text import fold

TTL_SECONDS = 600.0  # wire report 1A.0

# Putting these on would trash, report or unread a message, or is refused upstream: none of it is
# a matter of labels.
_NOT_TO_ADD = frozenset({"UNREAD", "TRASH", "SPAM", "DRAFT", "SENT", "CHAT"})


@dataclass(slots=True)
class LabelCache:
    """
    One account's labels as they were a moment ago. Shared by everything that uses the account.

    Attributes:
        names: Label id to name.
        read_at: On the clock's scale; None when they were never read.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    read_at: float | None = None
    clock: Callable[[], float] = time.monotonic

    @property
    def fresh(self) -> bool:
        return self.read_at is not None and self.clock() - self.read_at < TTL_SECONDS

    async def read(self, upstream: Upstream, *, anew: bool = False) -> Mapping[str, str]:
        """Return label id to name; *anew* asks upstream in any case."""
        if anew or not self.fresh:
            answer = await upstream.call("GET", *ROOT, "labels")
            labels = answer.decode(LabelsResponse).labels
            self.names = {label.id: _shown(label) for label in labels if is_provider_a_id(label.id)}
            self.read_at = self.clock()
        return self.names

    async def names_including(
        self, upstream: Upstream, label_ids: Sequence[str]
    ) -> Mapping[str, str]:
        """Return label id to name, read again when one of *label_ids* is new."""
        names = await self.read(upstream)
        if any(label_id_ not in names for label_id_ in label_ids):
            names = await self.read(upstream, anew=True)
        return names

    async def find(self, upstream: Upstream, name: str) -> str | None:
        """Return the id of the label of this name (any case), None when there is none."""
        found = _by_name(await self.read(upstream), name)
        if found is None:
            found = _by_name(await self.read(upstream, anew=True), name)
        return found

    async def ids_to_add(self, upstream: Upstream, names: Sequence[str]) -> list[str]:
        """
        Return the ids of labels to put on, making those that do not exist.

        Raises:
            Missing: One of them is no label that can be put on.
        """
        if any(name.upper() in _NOT_TO_ADD for name in names):
            raise Missing
        return [await self._ensured(upstream, name) for name in names]

    async def ids_to_remove(self, upstream: Upstream, names: Sequence[str]) -> list[str]:
        """Return the ids of labels to take off; those that cannot be on a message are left out."""
        wanted = [name for name in names if name.upper() not in _NOT_TO_ADD]
        found = [await self.find(upstream, name) for name in wanted]
        return [one for one in found if one is not None]

    async def _ensured(self, upstream: Upstream, name: str) -> str:
        found = await self.find(upstream, name)
        if found is not None:
            return found
        wanted = {
            "name": name,
            "labelListVisibility": "labelShow",
            "messageListVisibility": "show",
        }
        try:
            answer = await upstream.call("POST", *ROOT, "labels", json=wanted)
        except Conflicted:
            names = await self.read(upstream, anew=True)
            found = _by_name(names, name)
            if found is None:
                raise
            return found
        label = answer.decode(Label)
        self.names = {**self.names, label.id: label.name}
        return label.id


def _shown(label: Label) -> str:
    """Name a label: the system's own by their ids, which are the same in every language."""
    return label.id if label.type == "system" else label.name


def _by_name(names: Mapping[str, str], name: str) -> str | None:
    wanted = fold(name)
    return next((one for one, text in names.items() if fold(text) == wanted), None)
