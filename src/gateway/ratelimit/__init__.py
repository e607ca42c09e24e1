"""
Rate limits, and the concurrent upstream calls of an account, of one process or of several.

    windows        the configured windows, the state of one window, the verdict on a charge
    buckets        the bucket of a path
    memory         the limiter of one process
    redis          the limiter of several processes, over Redis
    prefix         the prefix of a deployment's keys in Redis
    redis_client   the Redis of a process: its keys, and for how long it is waited for
    redis_slots    slots of an upstream account, shared over Redis by leases
"""
