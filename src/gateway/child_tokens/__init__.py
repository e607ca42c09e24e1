"""
Child tokens, made and revoked by the holders of their parents (docs/spec/child-tokens.md).

    store   the child tokens of every token
    inputs  what `createChildToken` takes, imported when the first is made
"""
