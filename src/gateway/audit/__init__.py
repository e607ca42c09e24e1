"""
The decision log: one row per call of a known token, and what decided it (ADR 0013).

    decision   the members of a row
    recorder   makes rows from finished requests
    log        the queue in memory and its batches into the database
    batches    storage of queued rows, without those that can never be stored
    changes    rows about changes by administrators
    chain      signatures that link rows, so that tampering shows
    heads      signed ends of chains, stored and sent out
    seals      verification, also after a rotation of the keys
    reading    queries over stored rows
    retention  deletion of old days
    provider_errors
               responses of providers behind refused requests

See docs/spec/management.md#decision-log.
"""
