"""Lazily mapped sequence of `Email` records."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from providers.mail.scanning import Positioned
from providers.records.mail import Email

M = TypeVar("M", bound=Positioned)


class LazyRecords(Sequence[Email], Generic[M]):
    """
    Records of messages, mapped whenever they are accessed.

    A page over many mailboxes shows few of the messages that they return; the others are only put
    in order. Equal to a tuple of the same records.

    Attributes:
        messages: The messages as upstream sent them, in order.
    """

    def __init__(
        self, messages: Sequence[M], to_records: Callable[[Sequence[M], str], Sequence[Email]]
    ) -> None:
        """Take messages and the function that maps some of them, with a prefix of their ids."""
        self.messages = messages
        self._to_records = to_records

    @overload
    def __getitem__(self, index: int) -> Email: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Email]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._to_records(self.messages[index], "")
        return self._to_records([self.messages[index]], "")[0]

    def first(self, count: int, *, prefix: str) -> Sequence[Email]:
        """Return the first *count* records, with *prefix* before the ids of emails and threads."""
        return self._to_records(self.messages[:count], prefix)

    def __iter__(self) -> Iterator[Email]:
        return iter(self[:])

    def __len__(self) -> int:
        return len(self.messages)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    __hash__ = None  # type: ignore[assignment]


def unmapped(emails: Sequence[Email]) -> Sequence[Positioned]:
    """Return the messages behind *emails*, which tell their positions without being mapped."""
    return emails.messages if isinstance(emails, LazyRecords) else emails
