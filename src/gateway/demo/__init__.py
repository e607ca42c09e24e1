"""
The demo: a gateway with an embedded store over the sandbox upstreams. It alone imports `sandbox`.

    world      the sandbox upstreams, seeded
    profiles   the settings of the demo's tokens
    launcher   operators, resources, connections and tokens
    own_servers
               the connections to Dovecot, Postfix and Radicale (`sandbox.own_servers`)
    manifest   state between starts, and the manifest with addresses and tokens
"""
