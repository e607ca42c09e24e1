"""
Allow rules for resources that a token creates, stored such that no crash loses one.

    log       intents: written before a resource is created, replaced by its rule afterwards
    recovery  abandoned intents: finds the created resource upstream and stores its rule

See docs/spec/rules.md#rules-made-by-the-gateway and ADR 0012.
"""
