"""The objects of the management API: their members, types and descriptions."""

from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from gateway.audit import decision
from gateway.auth import token_status
from gateway.connections import rows as connection_rows
from gateway.operations.json_schemas import Keywords, enum_of
from gateway.operations.settings_views import TokenSettings
from gateway.store import timestamps
from policy import vocabulary as words
from providers.catalogue.tables import CODES
from providers.ports.checks import Outcome
from rest_compat.saved.methods import METHODS


class View(BaseModel):
    """Root of the objects: camelCase members, which are given by name or read from a row."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        from_attributes=True,
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object, without the members that were left out."""
        return self.model_dump(mode="json", exclude_unset=True)


Long = Annotated[int, Keywords(format="int64")]
MomentText = Annotated[str, Keywords(format="date-time")]
# Milliseconds since the epoch, which JSON has as a text.
Moment = Annotated[
    int, PlainSerializer(timestamps.to_text, return_type=str), Keywords(format="date-time")
]
Url = Annotated[str, Keywords(format="uri")]
Status = Annotated[str, enum_of(connection_rows.STATUSES)]
Mode = Annotated[str, enum_of(connection_rows.MODES)]
SurfaceWord = Annotated[str, enum_of(words.Surface)]
LayerWord = Annotated[str, enum_of(words.Layer)]
CodeWord = Annotated[str, enum_of(words.Code)]
EmailWord = Annotated[str, enum_of(words.EmailOp)]
TaskWord = Annotated[str, enum_of(words.TaskOp)]
CollabWord = Annotated[str, enum_of(words.CollabOp)]
NextPageToken = Annotated[
    str | None, Field(description="The `pageToken` of the next page; null on the last one.")
]
HasMore = Annotated[bool, Field(description="Whether there is a next page.")]


class Page(TypedDict):
    """The members of every page beside its list, by their names in Python."""

    next_page_token: NextPageToken
    has_more: HasMore


class PageMembers(TypedDict):
    """The members of every page beside its list, by their names in JSON."""

    nextPageToken: NextPageToken
    hasMore: HasMore


# -- operators, resources, connections -----------------------------------------------------------


class Operator(View):
    """A person whose accounts are connected."""

    id: Annotated[str, Keywords(format="uuid")] = Field(description="A UUID.")
    email: str = Field(description="The person's address.")
    display_name: str = Field(description="The person's display name.")
    created_at: Moment = Field(description="When the operator was added.")


class OperatorPage(View):
    """Operators, oldest first."""

    operators: list[Operator] = Field(description="At most `limit` of them.")
    next_page_token: NextPageToken
    has_more: HasMore


class Resource(View):
    """A container of connections; operators and access tokens are linked to it."""

    id: Long = Field(description="An id that is never used again.")
    name: str = Field(description="For display.")
    operator_ids: list[str] = Field(description="The operators linked to it, by id.")
    created_at: Moment = Field(description="When the resource was added.")


class ResourcePage(View):
    """Resources by id."""

    resources: list[Resource] = Field(description="At most `limit` of them.")
    next_page_token: NextPageToken
    has_more: HasMore


class Connection(TypedDict):
    """A connected account; its credentials never come back."""

    id: Annotated[Long, "An id that is never used again."]
    resourceId: Annotated[Long, "The id of its resource."]
    operatorId: Annotated[str, "The id of its operator."]
    kind: Annotated[str, "The surface that it serves.", enum_of(words.Surface)]
    provider: Annotated[str, "The code of the account's provider.", enum_of(CODES)]
    mode: Annotated[Mode | None, "The way to collaboration content; null on other kinds."]
    accountEmail: Annotated[str, "The account's address."]
    grantedScopes: Annotated[list[str], "The scopes that the account's owner granted."]
    canWrite: Annotated[bool, "Whether these scopes allow changes."]
    status: Annotated[Status, "Whether the connection can be used."]
    statusDetail: Annotated[
        str | None,
        "The cause of a status other than `active`, or what an active mailbox cannot do; null: "
        "none is known.",
    ]
    reconnectUrl: Annotated[
        Url | None,
        "The link with which the owner renews the consent; null when not needed or no help.",
    ]
    lastOkAt: Annotated[
        MomentText | None, "The time of the account's last successful response; null: none yet."
    ]
    selectedSiteIds: Annotated[list[str], "The sites that a `selected_sites` connection reaches."]
    baseUrl: Annotated[str | None, "The base URL of the upstream; null: that of the deployment."]
    createdAt: Annotated[MomentText, "When the connection was added."]


class ConnectionPage(TypedDict):
    """Connections by id."""

    connections: Annotated[list[Connection], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class ConnectionTest(TypedDict):
    """The result of one harmless read upstream."""

    ok: Annotated[bool, "Whether the account answered."]
    status: Annotated[Status, "The status of the connection after the test."]
    detail: Annotated[str, "The result as a sentence."]
    latencyMs: Annotated[int, "The duration in milliseconds."]


class CheckFinding(TypedDict):
    """The result of one check of an account."""

    item: Annotated[str, "What was checked."]
    outcome: Annotated[
        str,
        enum_of(Outcome),
        "Whether the account behaves as expected; by-hand: a person must try it.",
    ]
    detail: Annotated[str, "The result as a sentence."]
    latencyMs: Annotated[int, "The duration in milliseconds."]


class ConnectionCheck(TypedDict):
    """Harmless checks of an account."""

    ok: Annotated[bool, "Whether no check failed."]
    findings: Annotated[list[CheckFinding], "One per check, in order."]


class Consent(TypedDict):
    """A consent that was started and waits for a person."""

    authorizeUrl: Annotated[Url, "The address where the account's owner consents."]
    expiresAt: Annotated[MomentText, "The end of this address."]


# -- access tokens -------------------------------------------------------------------------------


class ManagedAccessToken(TypedDict):
    """An access token without its text, which is not stored."""

    id: Annotated[Long, "An id that is never used again."]
    name: Annotated[str, "For display."]
    keyId: Annotated[str, "The first 8 characters of its text after the prefix."]
    operatorId: Annotated[str, "The id of its operator."]
    parentId: Annotated[
        Long | None, "The token from which it was made, which narrows it; null: it has none."
    ]
    resourceIds: Annotated[list[Long], "The resources whose connections it can use, ascending."]
    status: Annotated[token_status.Status, "Whether calls with the token are accepted."]
    createdAt: Annotated[MomentText, "When the token was created."]
    expiresAt: Annotated[MomentText | None, "When the token expires; null: never."]
    revokedAt: Annotated[MomentText | None, "When the token was revoked; null: it is not revoked."]
    lastUsedAt: Annotated[
        MomentText | None, "The time of the last call with the token; null: none yet."
    ]
    settings: Annotated[
        TokenSettings, "What the token may do; a child token, as far as its ancestors may."
    ]
    effectiveEmailOperations: Annotated[
        list[EmailWord],
        "`allowedEmailOperations` without shorthands; empty when the surface is off.",
    ]
    effectiveTaskOperations: Annotated[
        list[TaskWord], "`allowedTaskOperations` without shorthands."
    ]
    effectiveCollabOperations: Annotated[
        list[CollabWord],
        "`allowedCollabOperations` without shorthands; empty when the surface is off.",
    ]
    warnings: Annotated[
        list[str], "Settings that reveal more than they seem to, or allow nothing; usually empty."
    ]


class MintedAccessToken(ManagedAccessToken):
    """An access token with its text, which is shown this once only."""

    token: Annotated[str, "The text that callers send as `Authorization: Bearer …`."]


class AccessTokenPage(TypedDict):
    """Access tokens by id."""

    tokens: Annotated[list[ManagedAccessToken], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


# -- collab rules --------------------------------------------------------------------------------


class CollabRule(TypedDict):
    """A rule about the collaboration content that a token may reach."""

    id: Annotated[Long, "An id that is never used again."]
    ruleType: Annotated[
        str, "The property that the pattern is compared with.", enum_of(words.RuleType)
    ]
    pattern: Annotated[str, "In its stored form, without prefixes."]
    action: Annotated[
        str, "The effect on content that matches; `block` wins.", enum_of(words.RuleAction)
    ]
    description: Annotated[str | None, "For people."]
    source: Annotated[
        str, "`auto`: stored when the token created the resource.", enum_of(("manual", "auto"))
    ]
    createdAt: Annotated[MomentText, "When it was added."]
    updatedAt: Annotated[MomentText, "When it was last changed."]


class CollabRules(TypedDict):
    """All rules of a token."""

    rules: Annotated[list[CollabRule], "In the order of the request."]


class CollabRulePage(TypedDict):
    """Rules of a token by id."""

    rules: Annotated[list[CollabRule], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


# -- saved documents -----------------------------------------------------------------------------


class ListedDocument(TypedDict):
    """A saved document without its text."""

    name: Annotated[str, "The name that token settings and commands use."]
    documentId: Annotated[str, "SHA-256 of the text, in hexadecimal digits; `documentId`."]
    method: Annotated[str, "Of the calls that run it.", enum_of(METHODS)]
    path: Annotated[str, "Of these calls; variables in braces."]
    status: Annotated[int, "The HTTP status of a success."]
    description: Annotated[str | None, "For people."]
    createdAt: Annotated[MomentText, "When it was added."]
    updatedAt: Annotated[MomentText, "When it was last changed."]


class DocumentVariable(TypedDict):
    """A variable of a saved document."""

    name: Annotated[str, "Without the dollar sign."]
    type: Annotated[str, "Its GraphQL type."]
    filledBy: Annotated[
        str, "The part of a call that fills it.", enum_of(("path", "query", "header", "body"))
    ]
    required: Annotated[bool, "Whether a call must fill it."]


class SavedDocument(ListedDocument):
    """A GraphQL document that a call of REST runs."""

    document: Annotated[str, "Its text."]
    rootField: Annotated[str | None, "The root field that it selects; null: it does not fit."]
    surface: Annotated[SurfaceWord | None, "The surface of the root field; null: none."]
    variables: Annotated[list[DocumentVariable], "Its variables, in order."]
    problem: Annotated[
        str | None, "Why it does not fit the schema of this version; null: it does fit."
    ]


class DocumentPage(TypedDict):
    """Saved documents by name."""

    documents: Annotated[list[ListedDocument], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


# -- the decision log ----------------------------------------------------------------------------


class Decision(TypedDict):
    """One call of a token and what decided it, or one change by an administrator; no content."""

    id: Annotated[Long, "The id of the row."]
    at: Annotated[MomentText, "When the call was answered."]
    requestId: Annotated[str, "The call's `X-Request-Id`."]
    tokenId: Annotated[Long | None, "The token that called or was changed; null: none."]
    operatorId: Annotated[str | None, "The operator of the token."]
    door: Annotated[
        str,
        "The interface of the call; `admin`: a change by the management API, `cli`: by a command.",
        enum_of(decision.EntryPoint),
    ]
    surface: Annotated[SurfaceWord | None, "The surface of the call; null: none."]
    operation: Annotated[
        str | None, "The root field of the call, or the name of the change; null: none was reached."
    ]
    resourceId: Annotated[
        str | None,
        "The id in the request, if it has the form of an id, or the id of the changed object.",
    ]
    outcome: Annotated[
        str,
        "`failed`: the gateway did not refuse the call, but it did not succeed.",
        enum_of(decision.Outcome),
    ]
    layer: Annotated[LayerWord | None, "The layer that refused the call; null: none."]
    code: Annotated[CodeWord | None, "The error code; null: none."]
    status: Annotated[int, "The HTTP status of REST; 0: the client had disconnected."]
    ruleId: Annotated[Long | None, "The collab rule that decided; null: none did."]
    policyRevision: Annotated[int, "The revision of the token's policy at the call."]
    hiddenFields: Annotated[int, "How many fields of the surface the token may not see."]
    cost: Annotated[int, "Operations charged to its rate limits."]
    durationMs: Annotated[float, "Milliseconds from the authentication to the response."]
    upstreamCalls: Annotated[int, "Attempts at upstream calls, of the request as a whole."]
    upstreamStatus: Annotated[int | None, "The HTTP status of the last attempt."]
    actor: Annotated[
        str | None,
        "Who made the change: the name of an admin token, of a user, or `token` and the id of the "
        "token that made a child token; null: a call.",
    ]
    parentId: Annotated[
        Long | None, "The token from which the token was made; null: it is no child token."
    ]
    dryRun: Annotated[bool, "Whether it was a write that ended before it wrote anything."]


class DecisionPage(TypedDict):
    """Decisions, newest first."""

    decisions: Annotated[list[Decision], "At most `limit` of them."]
    nextPageToken: NextPageToken
    hasMore: HasMore


class ProviderError(TypedDict):
    """One response of a provider behind a request that failed then."""

    at: Annotated[MomentText, "When the request was answered."]
    connectionId: Annotated[Long | None, "The connection that was called; null: none."]
    provider: Annotated[str, "The API that was called; `tokens`: the OAuth server of the account."]
    status: Annotated[int | None, "The provider's HTTP status; null: no complete response."]
    code: Annotated[CodeWord, "The error code in the response to the caller."]
    text: Annotated[
        str | None,
        "The beginning of the provider's response; null: its key left `AGW_SECRET_KEYS`.",
    ]


class ProviderErrors(TypedDict):
    """The responses of providers behind a failed request."""

    requestId: Annotated[str, "The call's `X-Request-Id`."]
    errors: Annotated[list[ProviderError], "The last ones of the request, oldest first."]
