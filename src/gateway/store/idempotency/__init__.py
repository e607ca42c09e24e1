"""
Idempotency keys in the database; `rest_compat.ledger` states the contract.

    leases   leases of the running attempts, confirmed before each call with an effect
    fence    the end of an attempt that lost its key to a later request
    store    the entries: their begin, their end and their deletion
"""
