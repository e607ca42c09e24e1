"""
Answers to a person who is about to act: what a change would mean, before it is made.

    token_changes   the difference of a change of a token, in sentences and in one word
"""
