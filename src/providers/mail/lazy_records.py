"""Messages that become records only where somebody reads them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from providers.mail.scanning import Positioned
from providers.records.mail import Email

M = TypeVar("M", bound=Positioned)


class LazyRecords(Sequence[Email], Generic[M]):
    """
    The records of some messages, made whenever they are asked for.

    Of many mailboxes' answers most is never shown: it need not be more than put in order. Equal to
    a tuple of the same records.

    Attributes:
        sent: The messages as upstream sent them, in order.
    """

    def __init__(self, sent: Sequence[M], read: Callable[[Sequence[M]], Sequence[Email]]) -> None:
        """Take messages and what makes records of some of them."""
        self.sent = sent
        self._read = read

    @overload
    def __getitem__(self, at: int) -> Email: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Email]: ...

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self._read(self.sent[at])
        return self._read([self.sent[at]])[0]

    def __iter__(self) -> Iterator[Email]:
        return iter(self[:])

    def __len__(self) -> int:
        return len(self.sent)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    __hash__ = None  # type: ignore[assignment]


def unmapped(emails: Sequence[Email]) -> Sequence[Positioned]:
    """Return what tells the places of *emails* without making them."""
    return emails.sent if isinstance(emails, LazyRecords) else emails
