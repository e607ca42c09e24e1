"""From the arguments of `emails` to a `MailQuery`: limits, ranges, and no side doors."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from graph.context import Context
from policy.refusals import FieldNotVisible, InvalidInput
from policy.vocabulary import Code, EmailField
from providers.ports.mail import MailQuery

MAX_LIMIT = 50  # contract, GET /messages
MAX_TEXT = 500  # characters of q; decisions 5.3

# Where `q` may look -> the record attribute.
_SEARCHED: Mapping[EmailField, str] = MappingProxyType(
    {
        EmailField.SUBJECT: "subject",
        EmailField.BODY_PREVIEW: "body_preview",
        EmailField.BODY: "body",
        EmailField.FROM: "from_",
        EmailField.TO: "to",
        EmailField.CC: "cc",
    }
)

# What a provider's own search looks at besides.
_SEARCHED_BEYOND = (EmailField.ATTACHMENTS, EmailField.BCC, EmailField.LABELS)

# Filter -> its argument, and the field that it would reveal.
_SIDE_DOORS = (
    ("sender", "from", EmailField.FROM),
    ("recipient", "to", EmailField.TO),
    ("subject", "subject", EmailField.SUBJECT),
    ("label", "label", EmailField.LABELS),
    ("after", "after", EmailField.RECEIVED_AT),
    ("before", "before", EmailField.RECEIVED_AT),
)


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """The filters as the caller gave them; an empty text is no filter (decisions 0)."""

    q: str | None
    sender: str | None
    recipient: str | None
    subject: str | None
    label: str | None
    unread: bool | None
    after: datetime | None
    before: datetime | None
    has_attachment: bool | None

    def binding(self) -> dict[str, object]:
        """Return what a page token is bound to."""
        return {
            "q": self.q or None,
            "from": self.sender or None,
            "to": self.recipient or None,
            "subject": self.subject or None,
            "label": self.label or None,
            "unread": bool(self.unread),
            "after": self.after and self.after.isoformat(),
            "before": self.before and self.before.isoformat(),
            "hasAttachment": self.has_attachment,
        }

    def check(self) -> None:
        """
        Check what needs no policy.

        Raises:
            InvalidInput: `q` is too long, or `before` is not after `after`.
        """
        if len(self.q or "") > MAX_TEXT:
            raise InvalidInput(f"q may have at most {MAX_TEXT} characters.")
        if self.after is not None and self.before is not None and self.before <= self.after:
            raise InvalidInput("before must be later than after.", code=Code.INVALID_RANGE)


def query(filters: Filters, context: Context, *, limit: int) -> MailQuery:
    """
    Build the query, once it is sure that it reveals nothing hidden.

    Raises:
        FieldNotVisible: A filter looks at a hidden field, or `q` has nowhere to look.
    """
    _close_side_doors(filters, context)
    text = (filters.q or "").strip() or None
    return MailQuery(
        text=text,
        text_fields=_searched(context) if text else frozenset(),
        text_beyond=not (text and any(_conceals(context, word) for word in _SEARCHED_BEYOND)),
        sender=filters.sender or None,
        recipient=filters.recipient or None,
        recipient_in_cc=not (filters.recipient and _conceals(context, EmailField.CC)),
        subject=filters.subject or None,
        label=filters.label or None,
        unread=bool(filters.unread),
        after=filters.after,
        before=filters.before,
        has_attachment=filters.has_attachment,
        limit=limit,
    )


def _close_side_doors(filters: Filters, context: Context) -> None:
    for name, argument, field in _SIDE_DOORS:
        if getattr(filters, name):
            context.caller.require_visible(f"The filter {argument}", field)


def _conceals(context: Context, word: EmailField) -> bool:
    """Say whether nothing may be found by *word*; `maskMode: basic` lets everything be found."""
    return context.caller.strict and context.caller.hides(word)


def _searched(context: Context) -> frozenset[str]:
    fields = frozenset(name for word, name in _SEARCHED.items() if not _conceals(context, word))
    if not fields:
        raise FieldNotVisible("The filter q", *_SEARCHED, any_of=True)
    return fields
