"""
The jobs of an operator: their routes, and their `JOB` for the registry.

    alive         1: is everything alive
    new_account   2: connect an account
    accounts      3: test an account, reconnect it, or make a link for its owner
    new_token     4: make a token
    tokens        5 and 6: find a token; end one, or all of a person
    change_token  5: change a token after its difference was shown
    settings      the settings that matter here
    why           7: why a call was refused, and what would allow it
    remedies      7: apply what was offered, after its difference was shown
    calls         8: follow calls
    writes        9: release or reject what is held
    rules         10: edit rules, and try examples against them
    eyes          11: look through a token's eyes
    changes       12: who changed what, and its export
    people        people, with their accounts and tokens
"""
