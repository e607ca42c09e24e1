"""The labels of an account, cached by id and name: docs/spec/upstream/gmail.md#labels."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail.response_types import Label, LabelsResponse
from providers.failures import Broken, Conflicted, Impossible
from providers.http.client import Upstream
from providers.http.events import shared_lookup
from providers.ids import is_provider_a_id
from providers.mail.delivery import STATE_LABEL
from providers.search_text import fold_label

TTL_SECONDS = 600.0

# Adding these would trash, report or unread a message, or is refused by Gmail. Folded.
_STATES = frozenset({"unread", "trash", "spam", "draft", "sent", "chat"})


@dataclass(slots=True)
class LabelCache:
    """
    The labels of one account. One object per account.

    Attributes:
        names: Label id to name.
        read_at: Time of the last read, by *clock*; None before the first.
        clock: Monotonic seconds.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    read_at: float | None = None
    clock: Callable[[], float] = time.monotonic

    @property
    def is_fresh(self) -> bool:
        return self.read_at is not None and self.clock() - self.read_at < TTL_SECONDS

    async def read(self, upstream: Upstream, *, refresh: bool = False) -> Mapping[str, str]:
        """Return label id to name; *refresh* ignores the cached labels."""
        if refresh or not self.is_fresh:
            with shared_lookup():
                response = await upstream.call("GET", *ROOT, "labels")
            labels = response.decode(LabelsResponse).labels
            self.names = {label.id: _name(label) for label in labels if is_provider_a_id(label.id)}
            self.read_at = self.clock()
        return self.names

    async def names_including(
        self, upstream: Upstream, label_ids: Sequence[str]
    ) -> Mapping[str, str]:
        """Return label id to name, read again when one of *label_ids* is unknown."""
        names = await self.read(upstream)
        if not names.keys() >= set(label_ids):
            names = await self.read(upstream, refresh=True)
        return names

    async def find(self, upstream: Upstream, name: str) -> str | None:
        """Return the id of the label of this name (any case); None when there is none."""
        label_id = _id_of(await self.read(upstream), name)
        if label_id is None:
            label_id = _id_of(await self.read(upstream, refresh=True), name)
        return label_id

    async def ids_to_add(self, upstream: Upstream, names: Sequence[str]) -> list[str]:
        """
        Return the ids of labels to add, creating missing labels.

        Raises:
            Impossible: One of the labels cannot be added to a message.
        """
        if any(map(_is_state, names)):
            raise Impossible(STATE_LABEL)
        known = [await self.find(upstream, name) for name in names]
        if any(label_id is not None and _is_state(label_id) for label_id in known):
            raise Impossible(STATE_LABEL)
        return [
            label_id or await self._create(upstream, name)
            for name, label_id in zip(names, known, strict=True)
        ]

    async def ids_to_remove(self, upstream: Upstream, names: Sequence[str]) -> list[str]:
        """Return the ids of labels to remove; unknown and unassignable labels are left out."""
        label_ids = [await self.find(upstream, name) for name in names if not _is_state(name)]
        return [label_id for label_id in label_ids if label_id and not _is_state(label_id)]

    async def shown_names(self, upstream: Upstream, names: Sequence[str]) -> list[str]:
        """Return *names* as the account spells them; states of a message are left out."""
        labels = [name for name in names if not _is_state(name)]
        return [self.names.get(await self.find(upstream, name) or "", name) for name in labels]

    async def _create(self, upstream: Upstream, name: str) -> str:
        members = {
            "name": name,
            "labelListVisibility": "labelShow",
            "messageListVisibility": "show",
        }
        try:
            response = await upstream.call("POST", *ROOT, "labels", json=members)
        except Conflicted:
            label_id = _id_of(await self.read(upstream, refresh=True), name)
            if label_id is None or _is_state(label_id):
                raise
            return label_id
        label = response.decode(Label)
        if _is_state(label.id):
            raise Broken
        self.names = {**self.names, label.id: label.name}
        return label.id


def _name(label: Label) -> str:
    """Return the name to show: of system labels the id, which is the same in every language."""
    return label.id if label.type == "system" else label.name


def _is_state(label: str) -> bool:
    """Return whether a label, by its name or its id, is a state of a message."""
    return fold_label(label) in _STATES


def _id_of(names: Mapping[str, str], name: str) -> str | None:
    folded = fold_label(name)
    return next((label_id for label_id, text in names.items() if fold_label(text) == folded), None)
