"""Previews of changes of a message (`providers.write_previews`)."""

from collections.abc import Sequence

from providers.ports.mail import MailChange
from providers.write_previews import Change

_LABELS = "labels"

# The labels before the change are hidden from the caller, so they are not read.
HIDDEN_LABELS = Change(field=_LABELS, before=None, after=None, masked_by=_LABELS)


def read_state(is_read: bool, change: MailChange) -> tuple[Change, ...]:  # noqa: FBT001 - a value
    """Return the change of the read state; empty when *change* keeps it."""
    if change.read is None:
        return ()
    return (Change(field="isRead", before=is_read, after=change.read, masked_by="is_read"),)


def labels(before: Sequence[str], after: Sequence[str]) -> Change:
    """Return the change of the labels, as `Email.labels` shows them."""
    return Change(field=_LABELS, before=list(before), after=list(after), masked_by=_LABELS)
