"""
Saved documents: an operator's own REST endpoints (docs/spec/saved-documents.md).

    methods    the methods, and the statuses of their successes
    document   one saved document, and the conventions that bind its variables
    routes     finds the document of a path
    endpoint   handles the calls below `/api/saved`
"""
