"""Comparison of two messages as a client reads them; imported by checks."""

from email import message_from_bytes, policy

OWN_OF_EACH = {"message-id", "date", "received"}  # what a provider writes anew


def content_of(raw):
    """Return the sorted headers but those of each message alone, and every part with its bytes."""
    message = message_from_bytes(raw, policy=policy.default)
    headers = [
        (name, str(value))
        for name, value in message.items()
        if name.lower() not in OWN_OF_EACH and "boundary" not in str(value)
    ]
    parts = [
        (part.get_content_type(), part.get_filename(), part.get_payload(decode=True))
        for part in message.walk()
        if not part.is_multipart()
    ]
    return sorted(headers), parts
