"""
The demo: a gateway with an embedded store over the sandbox upstreams. It alone imports `sandbox`.

    world      the sandbox upstreams, seeded
    profiles   the settings of the demo's tokens
    launcher   operators, resources, connections and tokens
    own_servers
               Dovecot, Postfix and Radicale behind a third mailbox and calendar
    manifest   state between starts, and the manifest with addresses and tokens
"""
