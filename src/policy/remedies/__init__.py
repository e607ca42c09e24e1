"""
Finds changes of a token's policy that would let a refused call pass.

Modules, in reading order:

    changes    atomic changes of settings, rules and lifetime, and how they are applied
    settings   the remedies for each kind of refusal
    rules      the remedies for what collab rules block
    obstacles  sentences for refusals that no change of the token can remedy
    sentences  general words for the token's holder
"""
