"""
Documents: parsed, measured, validated, and prepared as operations.

    operations            the documents of the REST table, and the cache of callers' documents
    operation             one operation: its variables and requirements, and its execution
    rest_operation        the operation of a REST call: its gates, and members that it leaves out
    saved_operation       the operation of a saved document
    request_body          the body of a request, read strictly
    suggestions           "Did you mean" in validation errors, from a token's shape
    variables             describes variables that do not fit
    cost_limits           the limits of a document (docs/spec/graphql.md#document-limits)
    cost_walker           counts fields, depth, aliases and root fields in one pass
    field_cost            the cost of one root field or edge, and its conditions
    selected_coordinates  the coordinates that an operation selects
    sdl                   prints a schema, or the shape of a token, as SDL
"""
