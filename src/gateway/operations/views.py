"""The objects of the management API: their members, types and descriptions."""

from typing import Annotated, TypedDict

from gateway.audit import decision
from gateway.auth import tokens
from gateway.connections import rows as connection_rows
from gateway.operations.json_schemas import Keywords, enum_of
from gateway.operations.settings_views import TokenSettings
from policy import vocabulary as words
from providers.account_checks.checks import Outcome

Long = Annotated[int, Keywords(format="int64")]
Moment = Annotated[str, Keywords(format="date-time")]
Url = Annotated[str, Keywords(format="uri")]
Status = Annotated[str, enum_of(connection_rows.STATUSES)]
Mode = Annotated[str, enum_of(connection_rows.MODES)]
SurfaceWord = Annotated[str, enum_of(words.Surface)]
LayerWord = Annotated[str, enum_of(words.Layer)]
CodeWord = Annotated[str, enum_of(words.Code)]
EmailWord = Annotated[str, enum_of(words.EmailOp)]
TaskWord = Annotated[str, enum_of(words.TaskOp)]
CollabWord = Annotated[str, enum_of(words.CollabOp)]
NextPageToken = Annotated[str | None, "The `pageToken` of the next page; null on the last one."]
HasMore = Annotated[bool, "Whether there is a next page."]


class Page(TypedDict):
    """The members of every page beside its list."""

    nextPageToken: NextPageToken
    hasMore: HasMore


# -- operators, resources, connections -----------------------------------------------------------


class Operator(TypedDict):
    """Somebody whose accounts are connected."""

    id: Annotated[str, "A UUID.", Keywords(format="uuid")]
    email: Annotated[str, "The person's address."]
    displayName: Annotated[str, "What the person is called."]
    createdAt: Annotated[Moment, "When the operator was added."]


class OperatorPage(TypedDict):
    """Operators, oldest first."""

    operators: Annotated[list[Operator], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class Resource(TypedDict):
    """A container of connections; operators and access tokens are linked to it."""

    id: Annotated[Long, "Given out once, never again."]
    name: Annotated[str, "For display."]
    operatorIds: Annotated[list[str], "The operators linked to it, by id."]
    createdAt: Annotated[Moment, "When the resource was added."]


class ResourcePage(TypedDict):
    """Resources by id."""

    resources: Annotated[list[Resource], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class Connection(TypedDict):
    """A connected account; its credentials never come back."""

    id: Annotated[Long, "Given out once, never again."]
    resourceId: Annotated[Long, "The resource that it hangs on."]
    operatorId: Annotated[str, "Whose account it is."]
    kind: Annotated[str, "The surface that it serves.", enum_of(words.Surface)]
    provider: Annotated[str, "Who keeps the account.", enum_of(words.Provider, words.TaskProvider)]
    mode: Annotated[Mode | None, "How collaboration content is reached; null on other kinds."]
    accountEmail: Annotated[str, "The account's address."]
    grantedScopes: Annotated[list[str], "What the account's owner agreed to."]
    canWrite: Annotated[bool, "Whether those scopes let anything be changed."]
    status: Annotated[Status, "Whether it can be used, as far as is known."]
    statusDetail: Annotated[str | None, "What went wrong; null: nothing is known to be."]
    reconnectUrl: Annotated[
        Url | None, "Where the owner renews the consent; null unless that is needed and helps."
    ]
    lastOkAt: Annotated[Moment | None, "When the account last answered well; null: not yet."]
    selectedSiteIds: Annotated[list[str], "The sites that a `selected_sites` connection reaches."]
    baseUrl: Annotated[str | None, "Where upstream is called; null: where the deployment says."]
    createdAt: Annotated[Moment, "When the connection was added."]


class ConnectionPage(TypedDict):
    """Connections by id."""

    connections: Annotated[list[Connection], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class ConnectionTest(TypedDict):
    """How one harmless read upstream went."""

    ok: Annotated[bool, "Whether the account answered."]
    status: Annotated[Status, "What the connection's status is by that."]
    detail: Annotated[str, "The finding as a sentence."]
    latencyMs: Annotated[int, "How long it took, in milliseconds."]


class CheckFinding(TypedDict):
    """The result of one check of an account."""

    item: Annotated[str, "What was checked."]
    outcome: Annotated[
        str,
        enum_of(Outcome),
        "Whether the account behaves as expected; by-hand: a person must try it.",
    ]
    detail: Annotated[str, "The finding as a sentence."]
    latencyMs: Annotated[int, "How long it took, in milliseconds."]


class ConnectionCheck(TypedDict):
    """Harmless checks of an account."""

    ok: Annotated[bool, "Whether no check failed."]
    findings: Annotated[list[CheckFinding], "One per check, in order."]


class Consent(TypedDict):
    """A consent that has begun and that a person has to give."""

    authorizeUrl: Annotated[Url, "Where the account's owner agrees."]
    expiresAt: Annotated[Moment, "Until when that is possible."]


# -- access tokens -------------------------------------------------------------------------------


class ManagedAccessToken(TypedDict):
    """An access token as it is managed; its text is not kept."""

    id: Annotated[Long, "Given out once, never again."]
    name: Annotated[str, "For display."]
    keyId: Annotated[str, "The first 8 characters of its text behind the prefix."]
    operatorId: Annotated[str, "Whose token it is."]
    resourceIds: Annotated[list[Long], "The resources whose connections it can use, ascending."]
    status: Annotated[tokens.Status, "Whether calls with it are let in."]
    createdAt: Annotated[Moment, "When it was made."]
    expiresAt: Annotated[Moment | None, "When it ends; null: never."]
    revokedAt: Annotated[Moment | None, "When it was revoked; null: it was not."]
    lastUsedAt: Annotated[Moment | None, "When a call last came with it; null: not yet."]
    settings: Annotated[TokenSettings, "What it may do."]
    effectiveEmailOperations: Annotated[
        list[EmailWord], "`allowedEmailOperations` without shorthands."
    ]
    effectiveTaskOperations: Annotated[
        list[TaskWord], "`allowedTaskOperations` without shorthands."
    ]
    effectiveCollabOperations: Annotated[
        list[CollabWord], "`allowedCollabOperations` without shorthands."
    ]
    warnings: Annotated[list[str], "What its settings reveal against their look; mostly empty."]


class MintedAccessToken(ManagedAccessToken):
    """An access token with its text, which is never seen again."""

    token: Annotated[str, "What callers send as `Authorization: Bearer …`."]


class AccessTokenPage(TypedDict):
    """Access tokens by id."""

    tokens: Annotated[list[ManagedAccessToken], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


# -- collab rules --------------------------------------------------------------------------------


class CollabRule(TypedDict):
    """A rule about the collaboration content that a token may reach."""

    id: Annotated[Long, "Given out once, never again."]
    ruleType: Annotated[str, "What the pattern is compared with.", enum_of(words.RuleType)]
    pattern: Annotated[str, "In its stored form, without prefixes."]
    action: Annotated[str, "What happens to what matches; `block` wins.", enum_of(words.RuleAction)]
    description: Annotated[str | None, "For people."]
    source: Annotated[
        str, "`auto`: stored when the token made something.", enum_of(("manual", "auto"))
    ]
    createdAt: Annotated[Moment, "When it was added."]
    updatedAt: Annotated[Moment, "When it was last changed."]


class CollabRules(TypedDict):
    """All rules of a token."""

    rules: Annotated[list[CollabRule], "In the order in which they were given."]


class CollabRulePage(TypedDict):
    """Rules of a token by id."""

    rules: Annotated[list[CollabRule], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


# -- the decision log ----------------------------------------------------------------------------


class Decision(TypedDict):
    """One call of a token and what decided it, or one change by an administrator; no content."""

    id: Annotated[Long, "Of the entry."]
    at: Annotated[Moment, "When the call was answered."]
    requestId: Annotated[str, "The call's `X-Request-Id`."]
    tokenId: Annotated[Long | None, "Which token called or was changed; null: none."]
    operatorId: Annotated[str | None, "Whose token it was."]
    door: Annotated[
        str,
        "How the call came in; `admin`: a change by the management API, `cli`: by a command.",
        enum_of(decision.EntryPoint),
    ]
    surface: Annotated[SurfaceWord | None, "What was called; null: none of the surfaces."]
    operation: Annotated[
        str | None, "The root field that answers, or the change; null: none was reached."
    ]
    resourceId: Annotated[
        str | None, "The id that the caller named, if it has the form of one, or of what changed."
    ]
    outcome: Annotated[
        str, "`failed`: nothing here refused it, and it did not work.", enum_of(decision.Outcome)
    ]
    layer: Annotated[LayerWord | None, "What decided; null: it was allowed."]
    code: Annotated[CodeWord | None, "The reason; null: it was allowed."]
    status: Annotated[int, "What REST answers with; 0: nobody waited for an answer."]
    ruleId: Annotated[Long | None, "The collab rule that decided; null: none did."]
    policyRevision: Annotated[int, "Of the token, as the call found it."]
    hiddenFields: Annotated[int, "How many fields of the surface the token may not see."]
    cost: Annotated[int, "Operations charged to its rate limits."]
    durationMs: Annotated[float, "Milliseconds since the token was known."]
    upstreamCalls: Annotated[int, "Tries at calls upstream, of the request as a whole."]
    upstreamStatus: Annotated[int | None, "What the last of them was answered with."]
    actor: Annotated[
        str | None, "Who made the change: the name of an admin token, or of a user; null: a call."
    ]


class DecisionPage(TypedDict):
    """Decisions, newest first."""

    decisions: Annotated[list[Decision], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class ProviderError(TypedDict):
    """One answer of a provider behind a request that failed then."""

    at: Annotated[Moment, "When the request was answered."]
    connectionId: Annotated[Long | None, "The account that was called; null: none."]
    provider: Annotated[str, "What was called; `tokens`: the OAuth server of the account."]
    status: Annotated[int | None, "The provider's HTTP status; null: no whole answer came."]
    code: Annotated[CodeWord, "What the caller was told."]
    text: Annotated[
        str | None, "The beginning of the provider's answer; null: its key left `AGW_SECRET_KEYS`."
    ]


class ProviderErrors(TypedDict):
    """The answers of providers behind a failed request."""

    requestId: Annotated[str, "The call's `X-Request-Id`."]
    errors: Annotated[list[ProviderError], "The last ones of the request, oldest first."]
