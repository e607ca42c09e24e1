"""
Documents: parsed, measured, validated, and prepared as operations.

    operations            the documents of the REST table, and the cache of callers' documents
    operation             one operation: its variables and requirements, and its execution
    variables             describes variables that do not fit
    cost_limits           the limits of a document (docs/spec/graphql.md#document-limits)
    cost_walker           counts fields, depth, aliases and root fields in one pass
    selected_coordinates  the coordinates that an operation selects
"""
