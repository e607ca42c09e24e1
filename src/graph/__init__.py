"""
The GraphQL schema and the execution of operations, for REST and for POST /graphql.

    schema             the schema: root fields, masks applied, committed as `schema.graphql`
    context            what one request carries: caller, ports, results for response headers
    request_execution  POST /graphql: parse, measure, charge, validate, run, answer
    documents          documents parsed, measured against the limits, validated and cached
    execution          how a prepared operation runs, by a compiled plan where there is one
    masking            who may call a root field, and which fields a token may not see
    errors             refusals and failures as GraphQL errors
    effects            ends of mutations without content, for replays
    request_log        what a request asked and what denied it, for the decision log
    warnings           `authWarnings`
    loaders            data loaders of one request
    page_tokens        sealed positions in lists
    scalars            Long, DateTime, JSON
    file_content       the bytes of uploads: streamed, or base64 in variables
    attachment_uploads  port of files uploaded to be attached
    coordinates        schema coordinates ("Email.body") and what the schema has at them
    account            `accessToken`
    emails, events, tasks, collab  the root fields and types of each surface
"""
