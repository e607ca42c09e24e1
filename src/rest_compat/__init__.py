"""
The documented REST paths, answered through GraphQL documents.

Modules, in reading order:

    table        one row per endpoint
    operations/  the GraphQL document of each row
    router       finds the row of a request
    unknown_paths  what a 404 for a path says, and the nearest path
    calls        one call, from its binder to its shaper
    endpoint     documented calls: binds a request to its document, shapes the reply
    descriptions  calls that describe what the token in use can do
    saved        the documents that operators save, below `/api/saved`
    graphql_of   the document of a call that is named by its path
    translation  between calls and documents
    request      the HTTP request as sent
    preferences  the `Prefer` header
    binding      path, query and headers to variables
    readers      request bodies, by kind
    body         reads and parses JSON bodies
    inputs       checks a JSON body against the type of `$input`
    uploads      streamed upload bodies
    multipart    the file of a form, without its envelope
    documents    loads documents with their fragments
    idempotency  what an `Idempotency-Key` is bound to
    held         calls whose write waits for a person
    ledger       what the idempotency ledger knows of an intent
    contents     files as responses, in whole or by range
    responses    the response and how it is sent
    errors       builds error responses
    openapi      describes the paths as OpenAPI 3.1
"""
