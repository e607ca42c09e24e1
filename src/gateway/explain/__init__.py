"""
Explains why a call is refused and which change of the token would let it pass (ADR 0014).

    recorded   the documented call that a row of the decision log probably was
    request    the body of a request: the call or document that is asked about
    subject    the token with its stored policy, and with changes in memory
    dry_run    the state of one dry run
    runner     runs a call dry through the real routes, documents and gates
    result     the result of a dry run, and what stopped it
    layers     the outcome of every layer
    search     finds the smallest change by trying
    views      the response, member by member
    saved_documents
               saves documents that fit the schema and the shapes of tokens
    eyes       the shape of a token, and a short-lived child of it to look with
    explainer  answers a question in the shape of the management API

See docs/spec/management.md#explain.
"""
