"""The settings of sign-in (docs/spec/sign-in.md#clients), the console, held writes and feeds."""

from pydantic import Field

from gateway.push_settings import PushSettings


class SignInSettings(PushSettings):
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
    console: bool = Field(
        default=True,
        description="Whether the console is served at `/console/`, where administrators sign in "
        "with their admin tokens. With `AGW_ADMIN_PORT` it is served by that listener alone.",
    )
    held_write_minutes: int = Field(
        default=60,
        ge=1,
        le=1200,
        description="How long a write of a token with `writes: approve` waits for a person.",
    )
    feed_poll_seconds: int = Field(
        default=60,
        ge=5,
        le=3600,
        description="How often a feed of changes is looked at for those who wait to be told.",
    )
