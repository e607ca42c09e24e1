"""The settings of sign-in (docs/spec/sign-in.md#clients)."""

from pydantic import Field
from pydantic_settings import BaseSettings


class SignInSettings(BaseSettings):
    """By what applications identify themselves, besides those that the operator registered."""

    client_documents: bool = Field(
        default=True,
        description="Whether an application may ask a person to sign in that describes itself by "
        "a document at its id, an https URL. The document is fetched from public addresses alone.",
    )
    client_registration: bool = Field(
        default=False,
        description="Whether an application may register itself, by dynamic registration.",
    )
