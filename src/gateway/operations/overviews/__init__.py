"""
Answers to a person who is about to act: what matters here, and what a change would mean.

    deployment      the settings that matter for a deployment
    calls           the newest calls of tokens, by interface and kind too
    changes         what administrators changed, and its export
    hours           calls and refusals by hour
    quotas          what is left of the quotas of a token
    remedies        what a remedy changes, shown before it is applied in one transaction
    ways            the ways to connect an account
    token_changes   the difference of a change of a token, in sentences and in one word
"""
