"""Enums of the calendar surface; their values are the REST strings."""

from enum import StrEnum

import strawberry

from policy.vocabulary import Surface
from providers.catalogue.tables import KINDS


@strawberry.enum(graphql_name_from="value", description="The status of an event.")
class EventStatus(StrEnum):
    CONFIRMED = "confirmed"
    TENTATIVE = "tentative"
    CANCELLED = "cancelled"


@strawberry.enum(graphql_name_from="value", description="The response of an attendee.")
class AttendeeResponse(StrEnum):
    ACCEPTED = "accepted"
    DECLINED = "declined"
    TENTATIVE = "tentative"
    NEEDS_ACTION = "needsAction"


@strawberry.enum(graphql_name_from="value", description="The calendar provider that holds it.")
class CalendarProvider(StrEnum):
    locals().update({code: code for code in KINDS[Surface.CALENDAR]})
