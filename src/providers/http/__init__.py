"""
HTTP client of the upstreams: docs/adr/0011-an-http-transport-of-our-own.md.

    client        `Upstream`: the calls of one connection; what connectors use
    call          one call: token, deadline, retry
    attempt       one attempt at a call: slot, circuit breaker, request, response
    resilience    circuit breaker, retry budget and throttle of each connection
    slots         concurrent calls of each account
    retry_after   the Retry-After header
    failed_responses  responses that are failures, for administrators
    errors        failures of statuses and of transport errors
    response      a whole or a streamed response
    messages      requests and incoming responses, between a call and its transport
    bodies        decompression within a size limit, and the number of values of JSON
    request_headers  headers of a connection's requests
    urls          building and checking of upstream URLs
    events        what listeners are told of each call
    origins       transports by origin, and health by connection
    transport     the transport, over pools of connections
    proxies       outbound proxies and certificate authorities by environment variables
    pool          connections of one origin
    connection    one HTTP/1.1 connection
    time_limit    the time limit of a block, which ends the calls in it
    step_timer    timeouts of single steps, by one timer of the event loop
"""

import sys

# httpx imports its command line with rich and pygments where these are installed: a tenth of a
# second at every start. It takes the failure of that import for "not installed".
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # the import system's own mark
