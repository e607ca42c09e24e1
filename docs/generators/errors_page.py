"""`docs/reference/errors.md`: every error code with its status, layer, meaning and remedy."""

from collections.abc import Mapping
from types import MappingProxyType

from graph.errors import STATUSES, SURFACE_STATUSES
from policy.vocabulary import LAYER_BY_CODE, Code, Layer

_HEAD = """# All error codes

Every code, by the [layer](../guides/decision-log-and-explain.md) that answers with it. REST has the
code in `error` (null where the contract defines none, see [Errors](../rest/errors.md)), GraphQL in
`extensions.code`, the decision log in its column `code`. GraphQL answers with the status in
`extensions.httpStatus`. This page is written by code; statuses and layers are those of the code.
"""
_RETRY = "Retry after a moment."
_CORRECT = "Correct the request; `details` names the fields."
_ASK = "Ask the operator, with the `requestId`; `access-gateway explain` names the change."
_GONE = "Do not retry: it is missing, or hidden from this token."

# Code -> meaning, and what to do.
MEANINGS: Mapping[Code, tuple[str, str]] = MappingProxyType(
    {
        Code.RATE_LIMITED: (
            "A limit of the address, of the token or of the provider is reached.",
            "Wait for `Retry-After` seconds.",
        ),
        Code.OVERLOADED: (
            "The gateway has too many requests, or its database does not answer.",
            _RETRY,
        ),
        Code.UNAUTHENTICATED: (
            "There is no valid token; `reason` says why.",
            "Send another token.",
        ),
        Code.ADMIN_REQUIRED: (
            "An access token was sent to the management API.",
            "Send the admin token.",
        ),
        Code.EMAIL_NOT_ENABLED: ("The email surface is not enabled for the token.", _ASK),
        Code.CALENDAR_NOT_ENABLED: ("The calendar surface is not enabled for the token.", _ASK),
        Code.COLLAB_NOT_ENABLED: ("The collab surface is not enabled for the token.", _ASK),
        Code.NO_EMAIL_PROVIDER: ("No mailbox is connected for the token.", "Connect an account."),
        Code.NO_CALENDAR_PROVIDER: (
            "No calendar is connected for the token.",
            "Connect an account.",
        ),
        Code.NO_TASK_PROVIDER: (
            "No task account is connected for the token.",
            "Connect an account.",
        ),
        Code.NO_COLLAB_PROVIDER: (
            "No account with files or sites is connected for the token.",
            "Connect an account.",
        ),
        Code.OPERATION_NOT_ALLOWED: (
            "The token lacks the operation that `requiredOperation` names.",
            _ASK,
        ),
        Code.VALIDATION_ERROR: ("The body or an argument is invalid.", _CORRECT),
        Code.INVALID_PARAMETER: ("A query parameter or header is invalid.", _CORRECT),
        Code.MISSING_PARAMETER: ("A required query parameter is missing.", _CORRECT),
        Code.INVALID_RANGE: ("The range of times is empty or too long.", _CORRECT),
        Code.INVALID_PAGE_TOKEN: (
            "The page token is damaged, too old, or belongs to another query.",
            "Start again at the first page.",
        ),
        Code.INVALID_CURSOR: (
            "The cursor of a feed of changes is damaged, or belongs to another token.",
            "Start again without `since`, and read the listings again.",
        ),
        Code.INVALID_ID: ("The id has the wrong form.", "Use an id of a response."),
        Code.INVALID_QUERY: ("The search text cannot be read.", _CORRECT),
        Code.INVALID_FILTER: ("A filter, order or column of list items is unknown.", _CORRECT),
        Code.INVALID_FIELDS: ("A column of `fields` is unknown or read-only.", _CORRECT),
        Code.INVALID_REQUEST: ("The operation is not possible for this file or folder.", _CORRECT),
        Code.INVALID_DESTINATION: (
            "The destination is not a folder, or lies inside the moved folder.",
            _CORRECT,
        ),
        Code.PROVIDER_REQUIRED: (
            "Several task providers are connected.",
            "Send `provider`, one of `connectedProviders`.",
        ),
        Code.AMBIGUOUS_ACCOUNT: (
            "A write could go to several accounts, and the token must name one.",
            "Send `connectionId`, one of `accounts`.",
        ),
        Code.INVALID_PROVIDER: ("There is no provider with this code.", _CORRECT),
        Code.METHOD_NOT_ALLOWED: (
            "The path does not have this method.",
            "Use a method of the header `Allow`.",
        ),
        Code.REQUEST_TIMEOUT: ("The request did not arrive in time.", _RETRY),
        Code.IDEMPOTENCY_KEY_REUSED: (
            "The `Idempotency-Key` belongs to another request.",
            "Use a new key for a new request.",
        ),
        Code.IDEMPOTENCY_IN_PROGRESS: (
            "A request with this `Idempotency-Key` is running.",
            "Repeat it after a moment, with the same key.",
        ),
        Code.PAYLOAD_TOO_LARGE: (
            "The request, or the message to send, is too large.",
            "Send less data; see [all limits](limits.md).",
        ),
        Code.TOO_LARGE: ("`errorCode` of an upload that is too large.", "Send less data."),
        Code.UNSUPPORTED_MEDIA_TYPE: (
            "The body of a GraphQL request is not declared as JSON, or a file has no text.",
            "Send `Content-Type: application/json`; download the file.",
        ),
        Code.RANGE_NOT_SATISFIABLE: (
            "The range begins after the end of the file.",
            "Request a range within the size.",
        ),
        Code.GRAPHQL_PARSE_FAILED: ("The document is not valid GraphQL.", "Correct the document."),
        Code.GRAPHQL_VALIDATION_FAILED: (
            "The document does not match the schema.",
            "Correct the document; `details` and `locations` say where.",
        ),
        Code.QUERY_TOO_COSTLY: (
            "The document exceeds a limit.",
            "Request less at once; see [all limits](limits.md#graphql-documents).",
        ),
        Code.TOKEN_NOT_FOUND: ("There is no token with this id.", "List the tokens."),
        Code.OPERATOR_NOT_FOUND: ("There is no operator with this id.", "List the operators."),
        Code.RESOURCE_NOT_FOUND: ("There is no resource with this id.", "List the resources."),
        Code.RULE_NOT_FOUND: ("The token has no rule with this id.", "List the rules."),
        Code.DOCUMENT_NOT_ALLOWED: (
            "The token is limited to saved documents, and the call runs none that it allows.",
            "Use a call that `GET /api/access/openapi.json` lists with this token.",
        ),
        Code.DOCUMENT_NOT_FOUND: (
            "There is no saved document of this name or with this `documentId`.",
            "List the documents.",
        ),
        Code.DUPLICATE_RULE: ("The token already has this rule.", "No action is needed."),
        Code.RULE_LIMIT: ("The token has the maximum number of rules.", "Remove rules."),
        Code.DOCUMENT_LIMIT: (
            "The deployment has the maximum number of saved documents.",
            "Remove documents.",
        ),
        Code.UPLOAD_LIMIT: (
            "The token has too many uploaded attachments, or too many bytes of them.",
            "Wait: each is deleted an hour after its upload.",
        ),
        Code.TOKEN_LIMIT: (
            "The token has the maximum number of child tokens.",
            "Revoke children that are not needed; expired ones do not count.",
        ),
        Code.INVALID_RULE_TYPE: ("There is no rule of this type.", _CORRECT),
        Code.INVALID_PATTERN: ("The pattern does not match the type of the rule.", _CORRECT),
        Code.INVALID_ACTION: ("The action is neither `allow` nor `block`.", _CORRECT),
        Code.NO_PROVIDER: (
            "Accounts are connected, but none is active and allowed.",
            "Reconnect the account, or enable the connection.",
        ),
        Code.READ_ONLY: (
            "The connection may only read.",
            "Connect the account with permission to write.",
        ),
        Code.CONNECTION_NOT_FOUND: (
            "The token reaches no connection with this id.",
            "Leave out `connectionId`, or use one of the token's.",
        ),
        Code.MAILBOX_LIMIT: (
            "The search would read too many mailboxes.",
            "Restrict the token by `allowedConnectionIds`.",
        ),
        Code.ACCESS_DENIED: ("The token's access level or board list excludes the resource.", _ASK),
        Code.TIMEFRAME_DENIED: ("The event is outside the token's time window.", _ASK),
        Code.BLOCKED: ("A rule, or block-all, hides the resource from the token.", _GONE),
        Code.CALENDAR_NOT_FOUND: ("The calendar is missing, or not allowed for the token.", _GONE),
        Code.NOT_FOUND: ("The resource does not exist for this token.", _GONE),
        Code.EVENT_NOT_FOUND: ("The event does not exist for this token.", _GONE),
        Code.NAME_CONFLICT: ("The name is taken.", "Choose another name or `conflictBehavior`."),
        Code.PRECONDITION_FAILED: (
            "The resource has changed since it was read (`If-Match`).",
            "Read it again, and decide again.",
        ),
        Code.EFFECT_CHANGED: (
            "The write would not do what the dry run of `If-Effect` said.",
            "Run it dry again and look at the new effect.",
        ),
        Code.EFFECT_REQUIRED: (
            "The token writes only with the digest of the effect, which the call lacks.",
            "Look at `effect`; send its `digest` as `If-Effect` with the same call.",
        ),
        Code.WRITE_HELD: (
            "The write waits until a person releases it; nothing was done.",
            "Ask for its state by the id in `held`; do not repeat the call.",
        ),
        Code.HELD_WRITE_LIMIT: (
            "Too many writes of the token wait for a person.",
            "Have some released or rejected.",
        ),
        Code.PROVIDER_REFUSED: (
            "A policy of the provider forbids the change.",
            "Ask the provider's administrator.",
        ),
        Code.QUOTA_EXCEEDED: (
            "The provider's storage is full.",
            "Free some storage at the provider.",
        ),
        Code.SENDING_REFUSED: (
            "The account's server for outgoing mail refuses the login of the connection.",
            "Reading works. An administrator corrects the login; then send again.",
        ),
        Code.INTERNAL_ERROR: (
            "An error of the gateway.",
            "Report the `requestId`; the log has the cause.",
        ),
        Code.PROVIDER_ERROR: (
            "The provider failed, or refused the call.",
            "Retry reads; retry writes with an `Idempotency-Key`.",
        ),
        Code.PROVIDER_TIMEOUT: (
            "The provider did not answer in time.",
            "Retry reads; retry writes with an `Idempotency-Key`.",
        ),
        Code.OUTCOME_UNKNOWN: (
            "It is not known whether the provider made the change.",
            "Check whether it was made before you repeat it.",
        ),
        Code.FIELD_NOT_VISIBLE: (
            "The request would reveal a field that the token may not see.",
            "Leave out the filter or order, or ask the operator.",
        ),
        Code.RECIPIENT_NOT_ALLOWED: (
            "The token's recipient rules exclude a recipient of the write.",
            "Remove the recipients in `details`, or ask the operator.",
        ),
        Code.NO_WRITABLE_FIELDS: ("The token may write none of the columns.", _ASK),
    }
)


def errors_page() -> str:
    """
    Return the page: a table of codes for each layer, in the order of the checks.

    Raises:
        KeyError: A code has no meaning yet.
    """
    lines = [_HEAD]
    for layer in Layer:
        codes = [code for code in Code if LAYER_BY_CODE[code] is layer]
        if not codes:
            continue
        lines += [f"## `{layer.value}`", ""]
        lines += ["| Code | HTTP | Meaning | What to do |", "|---|---|---|---|"]
        for code in codes:
            meaning, remedy = MEANINGS[code]
            lines.append(f"| `{code.value}` | {_status(code)} | {meaning} | {remedy} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _status(code: Code) -> str:
    others = [
        f"{status} on {surface.value}"
        for (surface, other), status in SURFACE_STATUSES.items()
        if other is code
    ]
    return ", ".join([str(STATUSES[code]), *others])
