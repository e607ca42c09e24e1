"""
Decides what an access token may do, without any I/O.

Modules, in reading order:

    counts      numbers with their nouns, for sentences
    vocabulary  every word of the API: surfaces, operations, mask words, codes, layers
    recipients  to whom a token may write, and the normal form of addresses
    documents   the saved documents that a token may run
    settings    default and reader of each token setting
    presets     named settings of a token, and what they hand on of another one
    grants      `Grant`: the settings of one token, parsed
    containment by which settings one grant allows more than another, and what both allow
    gates       the checks that need no parameters: surface, connection, operation
    rule_facts  the facts about a resource that rules are matched with
    rule_index  the rules of one action, and the matchers of each rule type
    rules       `RuleSet`: which collab resources a token may reach
    rule_chain  `RuleChain`: the rules of a child token and of its ancestors
    wildcards   patterns with `*`, matched in linear time
    patterns    accepted and stored forms of rule patterns
    timeframe   the calendar window of a token and the range of a call
    quota       rate windows, and the port of the counter
    refusals    exceptions for what a caller may not do
    accounts    what narrows a token on one of its connections
    describe    sentences: `accessInfo`, and what a held write would do
    caller      `Caller`: the authenticated token, asked by every resolver
    remedies    changes of a token that would let a refused call pass
"""
