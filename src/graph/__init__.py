"""
The GraphQL schema and the execution of operations, for REST and for POST /graphql.

    schema             the schema: root fields, masks applied, committed as `schema.graphql`
    context            what one request carries: caller, ports, results for response headers
    documents          documents parsed, measured against the limits, validated and cached
    execution          how a prepared operation runs, by a compiled plan where there is one
    shape              the part of the schema that a token can use
    masking            who may call a root field, and which fields a token may not see
    errors             refusals and failures as GraphQL errors
    effects            what a dry run shows, and what `If-Effect` compares
    kept_results       results of mutations without content, for replays
    request_log        what a request asked and what denied it, for the decision log
    warnings           `authWarnings`
    loaders            data loaders of one request
    page_tokens        sealed positions in lists
    output_types       declarations of output types: description and mask words of each member
    scalars            Long, DateTime, JSON
    file_content       the bytes of uploads, streamed or base64 in variables; readable text
    attachment_uploads  port of files uploaded to be attached
    child_token_port   port of the tokens that a holder makes
    held_write_port    port of the writes that wait for a person
    edge_table         fields that lead to other objects: the table of them all
    edges              the same fields in the schema
    coordinates        schema coordinates ("Email.body") and what the schema has at them
    account            `accessToken`, `pendingWrite`
    child_tokens       `childTokens`, `createChildToken`, `revokeChildToken`
    links              `person`, `lastContact`, `links`, `related`: what leads on to other objects
    changes            `changes`: the feed of changes, and subscriptions to it
    emails, events, tasks, collab, people  the root fields and types of each surface
"""
