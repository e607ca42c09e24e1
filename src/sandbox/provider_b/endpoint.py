"""
Dispatch of calls below a user, with the user, the preferences and the permissions of a call.

`UserEndpoints` dispatches calls below ``/v1.0/me`` and ``/v1.0/users/{id|upn}`` and turns a
`GraphError` into a response. See docs/spec/upstream/outlook-mail.md#preferences.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from sandbox.http import Request, Response, Router
from sandbox.mail.ids import PROVIDER_B
from sandbox.provider_b.mailbox_rights import OPENS, SENDS, Right, rights_in
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.responses import GraphError, access_denied, error_response, to_graph_error
from sandbox.state import SandboxState

_IMMUTABLE = re.compile(r'\bIdType\s*=\s*"?ImmutableId"?', re.IGNORECASE)
_BODY_TYPE = re.compile(r'\boutlook\.body-content-type\s*=\s*"?(text|html)"?', re.IGNORECASE)
_ZONE = re.compile(r'\boutlook\.timezone\s*=\s*(?:"([^"]*)"|([\w/+-]+))', re.IGNORECASE)
_PAGE_SIZE = re.compile(r'\bodata\.maxpagesize\s*=\s*"?(\d{1,4})"?', re.IGNORECASE)
_KEYED = re.compile(r"^(\w+)\('(.*)'\)$")

# Path words are case-insensitive; ids are not.
_PATH_WORDS = {
    word.lower(): word
    for word in (
        "me",
        "users",
        "messages",
        "mailFolders",
        "childFolders",
        "attachments",
        "createUploadSession",
        "sendMail",
        "send",
        "reply",
        "replyAll",
        "forward",
        "createReply",
        "createReplyAll",
        "createForward",
        "move",
        "copy",
        "outlook",
        "people",
        "masterCategories",
        "permanentDelete",
        "calendar",
        "calendars",
        "calendarGroups",
        "calendarView",
        "events",
        "instances",
        "cancel",
        "accept",
        "decline",
        "tentativelyAccept",
        "getSchedule",
        "delta",
    )
} | dict.fromkeys(("delta()", "microsoft.graph.delta", "microsoft.graph.delta()"), "delta")
USER = "$user"  # route pattern of the user resource itself
BAD_QUERY_CODE = "RequestBroker--ParseUri"  # error code of mail for an invalid query option


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The user of a call."""

    id: str
    email: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCall:
    """
    A request to an endpoint below a user, with its preferences.

    Attributes:
        immutable: Whether immutable ids are preferred.
        body_type: "html" or "text".
        applied: The preferences that apply, for `Preference-Applied`.
        page_size: The preferred page size; None when there is none.
        zone: The preferred time zone of event times, as the client named it; None for UTC.
        rights: Those of the signed-in person in the user's shared mailbox; None: it is the
            person's own. Calendars have roles besides.
    """

    request: Request
    user: User
    immutable: bool
    body_type: str
    applied: tuple[str, ...]
    page_size: int | None
    zone: str | None = None
    rights: frozenset[Right] | None = None

    def require_scope(self, *scopes: str) -> None:
        """
        Check that the token has one of *scopes*; of a shared mailbox, of those for shared ones.

        The person's rights there must do for it too.

        Raises:
            GraphError: 403, the token has none of them, or the person may not.
        """
        if not self.has_scope(*scopes):
            raise access_denied()
        if self.rights is None:
            return
        if not self.rights & OPENS:
            raise _unopened(self.request)
        if not any(scope.endswith((".Read", ".ReadBasic")) for scope in scopes):
            self._require_right_to_write(scopes)

    def has_scope(self, *scopes: str) -> bool:
        """Whether the token has one of *scopes*, or of a shared mailbox one for shared ones."""
        grant = self.request.grant
        have = {scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())}
        kind = "" if self.rights is None else ".Shared"
        return bool(have.intersection(f"{scope}{kind}" for scope in scopes))

    def _require_right_to_write(self, scopes: Sequence[str]) -> None:
        rights = self.rights or frozenset()
        if Right.FULL_ACCESS not in rights:
            raise access_denied()
        if "Mail.Send" in scopes and not rights & SENDS:
            raise GraphError(
                403,
                "ErrorSendAsDenied",
                "The user account which was used to submit this request does not have the right "
                "to send mail on behalf of the specified sending account. Cannot submit message.",
            )

    def odata_context(self, path: str) -> str:
        """Return the `@odata.context` of records below the user."""
        return f"{self.request.public}/v1.0/$metadata#users('{self.user.id}')/{path}"

    @property
    def url(self) -> str:
        """The absolute URL without its query."""
        return self.request.link().partition("?")[0]

    def json(self) -> dict[str, Any]:
        """
        Return the JSON object of the body, ``{}`` when there is no body.

        Raises:
            GraphError: 400, the body is no JSON object.
        """
        try:
            body = self.request.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise GraphError(
                400,
                "BadRequest",
                "Unable to read JSON request payload. Please ensure Content-Type header is set "
                "and payload is of valid JSON format.",
            )
        return body

    @property
    def is_mime(self) -> bool:
        """Whether the body is base64 MIME rather than JSON."""
        return self.request.headers.get("content-type", "").lower().startswith("text/plain")


UserEndpoint = Callable[..., Response]


class UserEndpoints:
    """
    Dispatch of calls below a user.

    Attributes:
        routes: (method, pattern below the user) -> ``endpoint(call, **parameters)``.
    """

    def __init__(self, state: SandboxState, mailbox: str = PROVIDER_B) -> None:
        self._state = state
        self._mailbox = mailbox
        self.routes = Router()

    def answer(self, request: Request) -> Response | None:
        """Return the response to a call; None when the path has no route here."""
        segments = _normalize_path(request.segments)
        if segments[:1] != ("v1.0",) or segments[1:2] not in (("me",), ("users",)):
            return None
        below = 2 if segments[1] == "me" else 3
        if self._mailbox != PROVIDER_B and not self._is_named(segments[1:below]):
            return None
        if len(segments) < below or not self.routes.knows(_below_user(segments, below)):
            return None
        try:
            answer = self._answer(request, segments, below)
        except QueryError as error:
            answer = error_response(to_graph_error(error, code=BAD_QUERY_CODE), request)
        except GraphError as error:
            answer = error_response(error, request)
        return _echo_request_id(answer, request)

    def _answer(self, request: Request, segments: tuple[str, ...], below: int) -> Response:
        route = self.routes.find(request.method, _below_user(segments, below))
        if route is None:
            raise GraphError(
                405, "BadRequest", "The HTTP method is not supported for this resource."
            )
        endpoint, taken = route
        call = self._call(request, segments[1:below], is_directory=len(segments) == below)
        answer: Response = endpoint(call, **taken)  # type: ignore[assignment]  # ours are synchronous
        if call.applied:
            applied = {"preference-applied": ", ".join(call.applied)}
            answer = replace(answer, headers={**answer.headers, **applied})
        return answer

    def _call(self, request: Request, whose: tuple[str, ...], *, is_directory: bool) -> UserCall:
        prefer = request.headers.get("prefer", "")
        immutable = _IMMUTABLE.search(prefer)
        body_type = _BODY_TYPE.search(prefer)
        size = _PAGE_SIZE.search(prefer)
        zone = _ZONE.search(prefer)
        applied = []
        if body_type:
            applied.append(f'outlook.body-content-type="{body_type[1].lower()}"')
        if immutable:
            applied.append('IdType="ImmutableId"')
        if size:
            applied.append(f"odata.maxpagesize={int(size[1])}")
        named = (zone[1] or zone[2] or "") if zone else None
        if named is not None:
            applied.append(f'outlook.timezone="{named}"')
        return UserCall(
            request=request,
            user=self._user(request, whose, is_directory=is_directory),
            rights=self._rights(request),
            immutable=immutable is not None,
            body_type=body_type[1].lower() if body_type else "html",
            applied=tuple(applied),
            page_size=int(size[1]) if size else None,
            zone=named,
        )

    def _rights(self, request: Request) -> frozenset[Right] | None:
        grant = request.grant
        if self._mailbox == PROVIDER_B or (grant is not None and grant.app_only):
            return None
        person = grant.account if grant else ""
        return rights_in(self._state.database, self._mailbox, person)

    def _is_named(self, whose: tuple[str, ...]) -> bool:
        """Whether a path names the user of this mailbox."""
        account = self._state.mails.account(self._mailbox)
        names = (str(uuid5(NAMESPACE_DNS, account.email)), account.email.casefold())
        return whose[0] == "users" and whose[-1].casefold() in names

    def _user(self, request: Request, whose: tuple[str, ...], *, is_directory: bool) -> User:
        account = self._state.mails.account(self._mailbox)
        user = User(
            id=str(uuid5(NAMESPACE_DNS, account.email)), email=account.email, name=account.name
        )
        if whose[0] == "me":
            if request.grant is not None and request.grant.app_only:
                raise GraphError(
                    400,
                    "BadRequest",
                    "/me request is only valid with delegated authentication flow.",
                )
            return user
        if whose[1].casefold() in (user.id, user.email.casefold()):
            return user
        if is_directory:
            raise GraphError(
                404,
                "Request_ResourceNotFound",
                f"Resource '{whose[1]}' does not exist or one of its queried reference-property "
                "objects are not present.",
            )
        raise GraphError(404, "ErrorInvalidUser", f"The requested user '{whose[1]}' is invalid.")


def _unopened(request: Request) -> GraphError:
    """Return the refusal of a mailbox that the person may not open: 404 below a known folder."""
    if "mailFolders" in request.segments:
        message = "The specified object was not found in the store., Default folder Root not found."
        return GraphError(404, "ErrorItemNotFound", message)
    return access_denied()


def _below_user(segments: tuple[str, ...], below: int) -> tuple[str, ...]:
    return segments[below:] or (USER,)


def _normalize_path(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Restore the case of path words, and split ``messages('id')`` into two segments."""
    words: list[str] = []
    for segment in segments:
        keyed = _KEYED.match(segment)
        word = keyed[1] if keyed else segment
        words.append(_PATH_WORDS.get(word.lower(), word))
        if keyed:
            words.append(keyed[2].replace("''", "'"))
    return tuple(words)


def _echo_request_id(answer: Response, request: Request) -> Response:
    client_request_id = request.headers.get("client-request-id")
    if client_request_id is None:
        return answer
    return replace(answer, headers={**answer.headers, "client-request-id": client_request_id})
