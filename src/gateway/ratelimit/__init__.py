"""
Rate limits: true sliding windows, charged all at once or not at all.

windows    the configured windows, the state of one window, the verdict on a charge
memory     the hits of one process, and the limiter that counts in them alone
shared     the limiter of many processes, over Redis
"""
