"""
The HTTP side of the process, from the socket to the handler of a request.

    protocol               HTTP/1.1 of one connection, with deadlines and size limits
    response_transports    head and body in one write, and before the body of the request was read
    request_heads          which heads of requests are refused, and the form of the target
    connection_limits      the table of connections, and which of them are too slow
    middleware             request id, common headers, metrics, traces, logs, unexpected exceptions
    request_state          the state of one request, in its ASGI scope
    caller_keys            by what callers are told apart: a valid credential, else the address
    admission_control      slots and queues of callers, served in turn; load shedding
    dispatch               REST and GraphQL past the routes of the application
    calls                  the order of checks of every call
    entry                  authentication, rate limits and context of a request
    attachment_links       signed links to attachments
    client_addresses       the address that limits count by, and its rate limits
    graphql_call           a request to POST /graphql as a call
    graphql_endpoint       POST /graphql and POST /graphql/rest-of
    documents              what callers may ask about a document: its cost, why it is refused
    health                 /healthz, /readyz and /metrics
    pages                  explorer, API reference, /openapi.json, compressed
    api_descriptions       REST and GraphQL described: the whole, and the shape of a token
    request_services       the services of the process as a parameter of routes
    oauth_pages            the pages of an account's consent
    sandbox_mount          the sandbox upstreams at /sandbox of this process
"""
