"""
The checks of `doctor`.

    findings    the result of a check
    deployment  settings, secrets, folder and pages
    stores      database, Redis and clocks
    accounts    credentials, connections and upstreams
    held_writes whether writes wait, and who may release them
    webhooks    targets of wake-up calls that cannot be called
    notifications  what is missing for those of the providers
    own_servers own mail servers, as far as the login
    runner      all checks in order
"""
