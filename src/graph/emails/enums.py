"""Enums of the email surface; their values are the REST strings."""

from enum import StrEnum

import strawberry

from policy.vocabulary import Surface
from providers.catalogue.tables import KINDS


@strawberry.enum(graphql_name_from="value", description="How a body is written.")
class BodyType(StrEnum):
    HTML = "html"
    TEXT = "text"


@strawberry.enum(graphql_name_from="value", description="The importance that the sender chose.")
class Importance(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@strawberry.enum(graphql_name_from="value", description="The mail provider that holds it.")
class MailProvider(StrEnum):
    locals().update({code: code for code in KINDS[Surface.EMAIL]})
