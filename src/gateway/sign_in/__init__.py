"""
Sign-in: applications get child tokens by OAuth (docs/spec/sign-in.md).

    metadata          paths, protected resources and the authorization server as documents
    failures          the refusal of a request
    redirect_uris     which redirect URIs may be registered, and which are equal
    client_documents  clients that are described by a document at their id
    clients           clients that the operator registered, or that registered themselves
    requests          authorization requests of clients, checked and sealed
    grants            codes, child tokens, rotating secrets, one-time links
    page              the page as HTML, from the files in `templates`
    routes            the endpoints
    views             the objects of the management API
"""
