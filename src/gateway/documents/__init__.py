"""
Documents that the process runs: those of the table, and saved ones.

    prepared  the schema, and the documents of the table
    stored    the stored documents, read again after a change
    checks    checks of a document that is to be saved
    described  the stored documents in the OpenAPI description of a token
"""
