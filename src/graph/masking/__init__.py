"""
Access to the schema: who may call a root field, and which fields a token may not see.

    guards        the requirement of each root field, checked before its resolver
    wellformed    checks of argument texts and nesting
    text_limits   the longest text of each argument and member
    masks         fields of the schema -> the words that hide them
"""
