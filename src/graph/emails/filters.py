"""Converts the arguments of `emails` to a `MailQuery` that reveals no hidden field."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from policy.caller import Caller
from policy.refusals import FieldNotVisible, InvalidInput
from policy.vocabulary import Code, EmailField
from providers.mail import query_matching
from providers.ports.mail import MailQuery

MAX_LIMIT = 50  # docs/spec/paging.md#keys
MAX_PARTICIPANTS = 10  # addresses in `participant`

# Field that `q` searches -> the record attribute.
SEARCHED: Mapping[EmailField, str] = MappingProxyType(
    {
        EmailField.SUBJECT: "subject",
        EmailField.BODY_PREVIEW: "body_preview",
        EmailField.BODY: "body",
        EmailField.FROM: "from_",
        EmailField.TO: "to",
        EmailField.CC: "cc",
    }
)

# Further fields that a provider's own search looks at.
_SEARCHED_BEYOND = (EmailField.ATTACHMENTS, EmailField.BCC, EmailField.LABELS)

# Argument of a filter -> the fields that it would reveal (docs/spec/email.md#hidden-filters).
REVEALING: Mapping[str, tuple[EmailField, ...]] = MappingProxyType(
    {
        "from": (EmailField.FROM,),
        "to": (EmailField.TO,),
        "participant": (EmailField.FROM, EmailField.TO),
        "subject": (EmailField.SUBJECT,),
        "label": (EmailField.LABELS,),
        "after": (EmailField.RECEIVED_AT,),
        "before": (EmailField.RECEIVED_AT,),
    }
)


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """
    The filters in the request; an empty text is not a filter.

    Attributes:
        folder: The folder that the root field is about; no filter of the caller.
    """

    q: str | None
    sender: str | None
    recipient: str | None
    participant: str | None
    subject: str | None
    label: str | None
    unread: bool | None
    after: datetime | None
    before: datetime | None
    has_attachment: bool | None
    folder: str | None = None

    def binding(self) -> dict[str, object]:
        """Return the filter values to which a page token is bound."""
        return {
            "q": self.q or None,
            "from": self.sender or None,
            "to": self.recipient or None,
            "participant": self.participant or None,
            "subject": self.subject or None,
            "label": self.label or None,
            "unread": bool(self.unread),
            "after": self.after and self.after.isoformat(),
            "before": self.before and self.before.isoformat(),
            "hasAttachment": self.has_attachment,
            **({} if self.folder is None else {"folder": self.folder}),
        }

    def check(self) -> None:
        """
        Check the filters without regard to the token.

        Raises:
            InvalidInput: `participant` lists too many addresses, or `before` is not after `after`.
        """
        people = query_matching.addresses(self.participant) if self.participant else ()
        if len(people) > MAX_PARTICIPANTS:
            raise InvalidInput(f"participant may list at most {MAX_PARTICIPANTS} addresses.")
        if self.after is not None and self.before is not None and self.before <= self.after:
            raise InvalidInput("before must be later than after.", code=Code.INVALID_RANGE)


NO_FILTERS = Filters(**dict.fromkeys(Filters.__struct_fields__))
DRAFTS = msgspec.structs.replace(NO_FILTERS, folder="DRAFT")


def query(filters: Filters, caller: Caller, *, limit: int) -> MailQuery:
    """
    Build the query after checking that it reveals nothing hidden.

    Raises:
        FieldNotVisible: A filter is about a hidden field, or `q` has no visible field to search.
    """
    if filters == NO_FILTERS:
        return MailQuery(limit=limit)
    text = (filters.q or "").strip() or None
    checked = narrowed(
        MailQuery(
            text=text,
            text_fields=frozenset(SEARCHED.values()) if text else frozenset(),
            sender=filters.sender or None,
            recipient=filters.recipient or None,
            participant=filters.participant or None,
            subject=filters.subject or None,
            label=filters.label or None,
            unread=bool(filters.unread),
            after=filters.after,
            before=filters.before,
            has_attachment=filters.has_attachment,
            limit=limit,
        ),
        caller,
    )
    if filters.folder is None:
        return checked
    return msgspec.structs.replace(checked, label=filters.folder)


def narrowed(query: MailQuery, caller: Caller) -> MailQuery:
    """
    Return *query* so that it looks into no field that *caller* may not see.

    Raises:
        FieldNotVisible: As `query`.
    """
    for argument, fields in REVEALING.items():
        if getattr(query, _MEMBERS.get(argument, argument)):
            caller.require_visible(f"The filter '{argument}'", *fields)
    beyond = any(_conceals(caller, word) for word in _SEARCHED_BEYOND)
    in_cc = query.recipient or query.participant
    return msgspec.structs.replace(
        query,
        text_fields=query.text_fields & _searched(caller) if query.text else frozenset(),
        text_beyond=query.text_beyond and not (query.text and beyond),
        recipient_in_cc=query.recipient_in_cc and not (in_cc and _conceals(caller, EmailField.CC)),
    )


# Arguments whose members of `MailQuery` have other names.
_MEMBERS = {"from": "sender", "to": "recipient"}


def _conceals(caller: Caller, word: EmailField) -> bool:
    """Return whether *word* excludes its fields from search; `maskMode: basic` never does."""
    return caller.strict and caller.hides(word)


def _searched(caller: Caller) -> frozenset[str]:
    fields = frozenset(name for word, name in SEARCHED.items() if not _conceals(caller, word))
    if not fields:
        raise FieldNotVisible("The filter 'q'", *SEARCHED, any_of=True)
    return fields
