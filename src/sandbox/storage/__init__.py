"""
Storage of the sandbox.

    database   the SQLite file, with counters and texts by key
    documents  tables of typed documents in it, kept as JSON
"""
