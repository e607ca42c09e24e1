"""
Rate limits: true sliding windows, charged all at once or not at all.

    windows    the configured windows, the state of one window, the verdict on a charge
    memory     the limiter of one process
    redis      the limiter of several processes, over Redis
    prefix     the prefix of a deployment's keys in Redis
"""
