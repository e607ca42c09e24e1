"""
The management API: routes that only the holder of the admin token may call.

    auth             admin authentication, and the check for unknown query parameters
    router           routes whose responses are sent as returned, and ids in paths
    bodies           request bodies as models
    paging           list queries and page tokens
    revocations      the header about consents of removed connections
    error_handlers   exceptions as error responses
    operators, resources, connections, tokens, rules, documents, clients, decisions, explain,
    held_writes
                     one module per collection or call of the API
    schema_names     names for its request bodies and enumerations
    openapi          their OpenAPI document
    application      the FastAPI application of these routes and of the pages
"""
