"""Request ids that the gateway makes: UUIDs of version 4, drawn from a pool of random bytes."""

import os
import uuid

from gateway.http.middleware import new_request_id


def test_ids_are_different_uuids_of_version_4():
    texts = [new_request_id() for _ in range(1000)]  # more than one pool holds
    assert len(set(texts)) == 1000
    for text in texts:
        parsed = uuid.UUID(text)
        assert str(parsed) == text
        assert parsed.version == 4
        assert parsed.variant == uuid.RFC_4122


def test_a_child_process_draws_ids_of_its_own():
    new_request_id()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, new_request_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 36).decode() != new_request_id()
    os.close(reading)
    os.close(writing)
