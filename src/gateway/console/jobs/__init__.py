"""
The jobs of an operator, by their numbers on the first page; each module has its routes.

    alive         1: is everything alive; the settings that matter here
    people        people, with their accounts and tokens
    accounts      3: test an account, reconnect it, or make a link for its owner; end its use
    new_account   2: connect an account
    tokens        4, 5, 6 and 11: find a token, end or rotate it, make one, look through its eyes
    change_token  5 and 7: change a token after its difference was shown
    calls         7, 8 and 12: follow calls, why one was refused, who changed what; charts
    writes        9: release or reject what is held
    rules         10: edit rules, and try examples against them
"""
