"""
Signed wake-up calls to the URLs of others (docs/spec/webhooks.md).

    signatures  secrets and headers of the Standard Webhooks convention
    targets     who is called: made, rotated, listed, deleted; wake-ups are stored
    deliveries  the wake-ups that are due: taken, ended, repeated later
    sender      the calls, by one loop of each process
"""
