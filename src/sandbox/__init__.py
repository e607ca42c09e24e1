"""The server side of the upstreams' wire protocols, over one local store."""
