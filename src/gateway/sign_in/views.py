"""The objects of the management API about clients and one-time links."""

from typing import Annotated

from gateway.operations.json_schemas import Moment, View, about
from gateway.operations.views import Url


class ListedClient(View):
    """A registered client."""

    client_id: Annotated[str, about("Its id.")]
    name: Annotated[str, about("Its name, for people.")]
    redirect_uris: Annotated[list[str], about("Where it may send people back to.")]
    has_secret: Annotated[bool, about("Whether it proves a secret when it asks for tokens.")]
    is_registered_by_itself: Annotated[bool, about("Whether it registered itself.")]
    created_at: Annotated[Moment, about("When it was registered.")]


class RegisteredClient(ListedClient):
    """A new client, with its secret."""

    client_secret: Annotated[
        str | None, about("Its secret, shown this once; null: a public client.")
    ]


class ClientList(View):
    """The registered clients."""

    clients: Annotated[list[ListedClient], about("All of them, oldest first.")]


class SignInLink(View):
    """A one-time link."""

    url: Annotated[Url, about("What the person opens, or pastes instead of a token.")]
    expires_at: Annotated[Moment, about("When the link ends.")]
