"""The objects of the management API: their members, types and descriptions."""

from typing import Annotated, TypedDict

from pydantic import WrapValidator

from gateway.audit import decision
from gateway.auth import token_status
from gateway.connections import rows as connection_rows
from gateway.operations.json_schemas import Keywords, Long, Moment, View, about, enum_of
from gateway.operations.settings_views import TokenSettings
from policy import vocabulary as words
from providers.catalogue.causes import Cause
from providers.catalogue.tables import CODES
from providers.ports.checks import Outcome

Url = Annotated[str, Keywords(format="uri")]
Status = Annotated[str, enum_of(connection_rows.STATUSES)]
Mode = Annotated[str, enum_of(connection_rows.MODES)]
SurfaceWord = Annotated[str, enum_of(words.Surface)]
LayerWord = Annotated[str, enum_of(words.Layer)]
CodeWord = Annotated[str, enum_of(words.Code)]
EmailWord = Annotated[str, enum_of(words.EmailOp)]
TaskWord = Annotated[str, enum_of(words.TaskOp)]
CollabWord = Annotated[str, enum_of(words.CollabOp)]
# Settings that cannot be read are shown as they are; docs/spec/tokens.md#unreadable-settings.
_AS_STORED = WrapValidator(lambda settings, _: settings)
NextPageToken = Annotated[
    str | None, about("The `pageToken` of the next page; null on the last one.")
]
HasMore = Annotated[bool, about("Whether there is a next page.")]


class Page(TypedDict):
    """The members of every page beside its list, by their names in Python."""

    next_page_token: NextPageToken
    has_more: HasMore


# -- operators, resources, connections -----------------------------------------------------------


class Operator(View):
    """A person whose accounts are connected."""

    id: Annotated[str, about("A UUID."), Keywords(format="uuid")]
    email: Annotated[str, about("The person's address.")]
    display_name: Annotated[str, about("The person's display name.")]
    created_at: Annotated[Moment, about("When the operator was added.")]


class OperatorPage(View):
    """Operators, oldest first."""

    operators: Annotated[list[Operator], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


class Resource(View):
    """A container of connections; operators and access tokens are linked to it."""

    id: Annotated[Long, about("An id that is never used again.")]
    name: Annotated[str, about("For display.")]
    operator_ids: Annotated[list[str], about("The operators linked to it, by id.")]
    created_at: Annotated[Moment, about("When the resource was added.")]


class ResourcePage(View):
    """Resources by id."""

    resources: Annotated[list[Resource], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


class Connection(View):
    """A connected account; its credentials never come back."""

    id: Annotated[Long, about("An id that is never used again.")]
    resource_id: Annotated[Long, about("The id of its resource.")]
    operator_id: Annotated[str, about("The id of its operator.")]
    kind: Annotated[str, about("The surface that it serves."), enum_of(words.Surface)]
    provider: Annotated[str, about("The code of the account's provider."), enum_of(CODES)]
    mode: Annotated[Mode | None, about("The way to collaboration content; null on other kinds.")]
    account_email: Annotated[str, about("The address of the account, or of the shared mailbox.")]
    shared_on: Annotated[
        Long | None, about("The connection whose credentials it uses; null: its own.")
    ]
    granted_scopes: Annotated[list[str], about("The scopes that the account's owner granted.")]
    can_write: Annotated[bool, about("Whether these scopes allow changes.")]
    status: Annotated[Status, about("Whether the connection can be used.")]
    status_detail: Annotated[
        str | None,
        about(
            "The cause of a status other than `active`, or what an active mailbox cannot do; null: "
            "none is known."
        ),
    ]
    status_cause: Annotated[
        str | None,
        enum_of(Cause),
        about("The cause of a status other than `active`; null when nothing tells."),
    ]
    expires_at: Annotated[
        Moment | None,
        about(
            "When the credentials end and must be renewed, by time or for want of use; null when "
            "nothing tells."
        ),
    ]
    reconnect_url: Annotated[
        Url | None,
        about("The link with which the owner renews the consent; null when not needed or no help."),
    ]
    last_ok_at: Annotated[
        Moment | None, about("The time of the account's last successful response; null: none yet.")
    ]
    selected_site_ids: Annotated[
        list[str], about("The sites that a `selected_sites` connection reaches.")
    ]
    base_url: Annotated[
        str | None, about("The base URL of the upstream; null: that of the deployment.")
    ]
    created_at: Annotated[Moment, about("When the connection was added.")]


class ConnectionPage(View):
    """Connections by id."""

    connections: Annotated[list[Connection], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


class ConnectionTest(View):
    """The result of one harmless read upstream."""

    ok: Annotated[bool, about("Whether the account answered.")]
    status: Annotated[Status, about("The status of the connection after the test.")]
    detail: Annotated[str, about("The result as a sentence.")]
    latency_ms: Annotated[int, about("The duration in milliseconds.")]


class CheckFinding(View):
    """The result of one check of an account."""

    item: Annotated[str, about("What was checked.")]
    outcome: Annotated[
        str,
        enum_of(Outcome),
        about("Whether the account behaves as expected; by-hand: a person must try it."),
    ]
    detail: Annotated[str, about("The result as a sentence.")]
    latency_ms: Annotated[int, about("The duration in milliseconds.")]


class ConnectionCheck(View):
    """Harmless checks of an account."""

    ok: Annotated[bool, about("Whether no check failed.")]
    findings: Annotated[list[CheckFinding], about("One per check, in order.")]


class Consent(View):
    """A consent that was started and waits for a person."""

    authorize_url: Annotated[Url, about("The address where the account's owner consents.")]
    expires_at: Annotated[Moment, about("The end of this address.")]


class ReconnectLink(View):
    """A one-time link with which the owner of an account renews its credentials."""

    url: Annotated[Url, about("The page for the owner; it is shown this once.")]
    expires_at: Annotated[Moment, about("The end of the link.")]


# -- access tokens -------------------------------------------------------------------------------


class ManagedAccessToken(View):
    """An access token without its text, which is not stored."""

    id: Annotated[Long, about("An id that is never used again.")]
    name: Annotated[str, about("For display.")]
    key_id: Annotated[str, about("The first 8 characters of its text after the prefix.")]
    operator_id: Annotated[str, about("The id of its operator.")]
    parent_id: Annotated[
        Long | None, about("The token from which it was made, which narrows it; null: it has none.")
    ]
    resource_ids: Annotated[
        list[Long], about("The resources whose connections it can use, ascending.")
    ]
    status: Annotated[
        str, enum_of(token_status.Status), about("Whether calls with the token are accepted.")
    ]
    created_at: Annotated[Moment, about("When the token was created.")]
    expires_at: Annotated[Moment | None, about("When the token expires; null: never.")]
    revoked_at: Annotated[
        Moment | None, about("When the token was revoked; null: it is not revoked.")
    ]
    last_used_at: Annotated[
        Moment | None, about("The time of the last call with the token; null: none yet.")
    ]
    settings: Annotated[
        TokenSettings,
        _AS_STORED,
        about("What the token may do; a child token, as far as its ancestors may."),
    ]
    effective_email_operations: Annotated[
        list[EmailWord],
        about("`allowedEmailOperations` without shorthands; empty when the surface is off."),
    ]
    effective_task_operations: Annotated[
        list[TaskWord], about("`allowedTaskOperations` without shorthands.")
    ]
    effective_collab_operations: Annotated[
        list[CollabWord],
        about("`allowedCollabOperations` without shorthands; empty when the surface is off."),
    ]
    warnings: Annotated[
        list[str],
        about("Settings that reveal more than they seem to, or allow nothing; usually empty."),
    ]


class MintedAccessToken(ManagedAccessToken):
    """An access token with its text, which is shown this once only."""

    token: Annotated[str, about("The text that callers send as `Authorization: Bearer …`.")]


class AccessTokenPage(View):
    """Access tokens by id."""

    tokens: Annotated[list[ManagedAccessToken], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


# -- collab rules --------------------------------------------------------------------------------


class CollabRule(View):
    """A rule about the collaboration content that a token may reach."""

    id: Annotated[Long, about("An id that is never used again.")]
    rule_type: Annotated[
        str, about("The property that the pattern is compared with."), enum_of(words.RuleType)
    ]
    pattern: Annotated[str, about("In its stored form, without prefixes.")]
    action: Annotated[
        str, about("The effect on content that matches; `block` wins."), enum_of(words.RuleAction)
    ]
    description: Annotated[str | None, about("For people.")]
    source: Annotated[
        str,
        about("`auto`: stored when the token created the resource."),
        enum_of(("manual", "auto")),
    ]
    created_at: Annotated[Moment, about("When it was added.")]
    updated_at: Annotated[Moment, about("When it was last changed.")]


class CollabRules(View):
    """All rules of a token."""

    rules: Annotated[list[CollabRule], about("In the order of the request.")]


class CollabRulePage(View):
    """Rules of a token by id."""

    rules: Annotated[list[CollabRule], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


# -- the decision log ----------------------------------------------------------------------------


class Decision(View):
    """One call of a token and what decided it, or one change by an administrator; no content."""

    id: Annotated[Long, about("The id of the row.")]
    at: Annotated[Moment, about("When the call was answered.")]
    request_id: Annotated[str, about("The call's `X-Request-Id`.")]
    token_id: Annotated[Long | None, about("The token that called or was changed; null: none.")]
    operator_id: Annotated[str | None, about("The operator of the token.")]
    door: Annotated[
        str,
        about(
            "The interface of the call; `admin`: a change by the management API, `cli`: by a "
            "command."
        ),
        enum_of(decision.EntryPoint),
    ]
    surface: Annotated[SurfaceWord | None, about("The surface of the call; null: none.")]
    operation: Annotated[
        str | None,
        about("The root field of the call, or the name of the change; null: none was reached."),
    ]
    resource_id: Annotated[
        str | None,
        about(
            "The id in the request, if it has the form of an id, or the id of the changed object."
        ),
    ]
    outcome: Annotated[
        str,
        about("`failed`: the gateway did not refuse the call, but it did not succeed."),
        enum_of(decision.Outcome),
    ]
    layer: Annotated[LayerWord | None, about("The layer that refused the call; null: none.")]
    code: Annotated[CodeWord | None, about("The error code; null: none.")]
    status: Annotated[int, about("The HTTP status of REST; 0: the client had disconnected.")]
    rule_id: Annotated[Long | None, about("The collab rule that decided; null: none did.")]
    policy_revision: Annotated[int, about("The revision of the token's policy at the call.")]
    hidden_fields: Annotated[int, about("How many fields of the surface the token may not see.")]
    cost: Annotated[int, about("Operations charged to its rate limits.")]
    duration_ms: Annotated[float, about("Milliseconds from the authentication to the response.")]
    upstream_calls: Annotated[int, about("Attempts at upstream calls, of the request as a whole.")]
    upstream_status: Annotated[int | None, about("The HTTP status of the last attempt.")]
    actor: Annotated[
        str | None,
        about(
            "Who made the change: the name of an admin token, of a user, or `token` and the id of "
            "the token that made a child token; null: a call."
        ),
    ]
    parent_id: Annotated[
        Long | None, about("The token from which the token was made; null: it is no child token.")
    ]
    dry_run: Annotated[bool, about("Whether it was a write that ended before it wrote anything.")]


class DecisionPage(View):
    """Decisions, newest first."""

    decisions: Annotated[list[Decision], about("At most `limit` of them.")]
    next_page_token: NextPageToken
    has_more: HasMore


class ProviderError(View):
    """One response of a provider behind a request that failed then."""

    at: Annotated[Moment, about("When the request was answered.")]
    connection_id: Annotated[Long | None, about("The connection that was called; null: none.")]
    provider: Annotated[
        str, about("The API that was called; `tokens`: the OAuth server of the account.")
    ]
    status: Annotated[int | None, about("The provider's HTTP status; null: no complete response.")]
    code: Annotated[CodeWord, about("The error code in the response to the caller.")]
    text: Annotated[
        str | None,
        about("The beginning of the provider's response; null: its key left `AGW_SECRET_KEYS`."),
    ]


class ProviderErrors(View):
    """The responses of providers behind a failed request."""

    request_id: Annotated[str, about("The call's `X-Request-Id`.")]
    errors: Annotated[list[ProviderError], about("The last ones of the request, oldest first.")]
