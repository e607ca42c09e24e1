"""The overview text of the REST description: the rules that all calls share."""

TEXT = """\
Mail, calendars, task boards and collaboration content behind one access token. Everything here is
also available as GraphQL at `/graphql` ([explorer](../explorer/)), with the same tokens and
rules.

## Authentication

Send an access token as `Authorization: Bearer agw_…`. The token's settings decide which surfaces
and operations work, which resources exist for it, and which fields it may read. `GET
/api/access/token` returns the token's own settings. A missing, unknown, revoked or expired token
is answered with 401 and a `reason`.

`GET /api/access/openapi.json` describes the part of this reference that your token can use, and
`GET /api/access/schema.graphql` that part of the GraphQL schema. Masked fields are marked in both.

## GraphQL of a call

With `Prefer: graphql` a call returns the GraphQL document that it runs, its variables, and the
address that opens them in the explorer, and does nothing else; so does
`GET /api/access/graphql-of?method=GET&path=…`. `POST /graphql/rest-of` takes a document and names
the REST call that equals it, and `POST /graphql/explain` says why a document is refused.

## Masked fields

A field that the token may not see is null in every response, and is not requested from the
provider. `accessInfo` describes the token's restrictions in words. A filter, an order or a search
by a masked field is refused with 403 `FIELD_NOT_VISIBLE`, because the result would reveal its
value.

## Paging

Lists take `limit` and `pageToken`, and return `hasMore` and `nextPageToken`. Send `nextPageToken`
unchanged as `pageToken`, with the same filters, while `hasMore` is true; a page may be short or
empty before the last one. A page token is valid for 24 hours. A `limit` above the maximum is
lowered, and the header `X-Applied-Limit` holds the value used. Calendars are paged by `offset`,
the content search by `from`.

## Errors

Every error has the members `error` (a code), `message` and `requestId`; 400 also has `details`,
one entry per wrong field, and a refusal names the missing operation in `requiredOperation`.
`error` is null on 401 and 429, and on 404 and 5xx of collaboration content. The status means: 400
the request is invalid, 401 no valid token, 403 not allowed, 404 not there for this token, 409
conflict, 412 changed meanwhile, 413 too large, 422 the surface is not available to the token, 429
too many requests, 502 and 504 the provider failed, 503 the gateway is overloaded. `requestId` is
also the header `X-Request-Id`; the operator finds the call by it.

## Partial results

When one of several accounts does not answer, the results of the others are returned, and
`authWarnings` names the account. With `Prefer: partial=fail` the call fails instead.

## Changes

`GET /api/access/changes/stream?since=…` sends an event (`text/event-stream`) whenever
`GET /api/access/changes` would give rows from a cursor.

## Limits

The headers `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` describe the
window with the fewest requests left. After 429, wait for `Retry-After` seconds. Windows are
counted per client address and surface; a token may have a quota of its own.

## Idempotency

A `POST` with an `Idempotency-Key` (1 to 255 visible ASCII characters) runs once, however often it
is sent within 24 hours. A retry gets the first response again with `Idempotent-Replayed: true`. The
same key with other arguments is 409 `IDEMPOTENCY_KEY_REUSED`.

## Dry run

With `Prefer: dry-run` a write is checked and described, and nothing is written: the response has
the members of the real one, `dryRun: true` and `effect`. Where the real call answers with 204, the
dry run answers with 200.
Send `effect.digest` as `If-Effect` with the real call: it is refused with 412 `EFFECT_CHANGED` when
it would do anything else. A token with the setting `writes: effect` writes only so: without the
right digest its writes are 428 `EFFECT_REQUIRED`, with the `effect` in the body. The writes of one
with `writes: approve` wait until a person releases them: 202, and
`GET /api/access/writes/{id}` tells how they stand.

## Times, ids, versions

Times are UTC (`2026-11-20T09:00:00Z`). Ids are opaque: pass them back unchanged. The header
`X-Api-Version` is the date of the contract; new members and new codes may appear without a new
date.
"""
