"""
A gateway that waits long for Redis, upstreams and places: `python patient_gateway.py serve …`.

A machine that is busy with other tests then delays the answers, and changes none.
"""

from types import MappingProxyType

from providers import fanout

SECONDS = 300.0

fanout.CONNECTION_TIMEOUT_SECONDS = SECONDS  # before the import of modules that take it over

from gateway.__main__ import main  # noqa: E402
from gateway.http import admission_control  # noqa: E402
from gateway.ratelimit.redis_client import RedisStore  # noqa: E402
from providers.connectors.provider_b.outlook_mail import reading  # noqa: E402
from providers.http import client  # noqa: E402
from providers.mail import scanning  # noqa: E402
from providers.mail.merged_mailbox import MergedMailbox  # noqa: E402

assert MergedMailbox.__init__.__kwdefaults__["timeout_seconds"] == SECONDS
RedisStore.__init__.__kwdefaults__["timeout_seconds"] = SECONDS
admission_control.QUEUE_SECONDS = SECONDS
client.READ_SECONDS = client.WRITE_SECONDS = SECONDS
client._READ_TIMEOUTS = MappingProxyType(dict.fromkeys(client._READ_TIMEOUTS, SECONDS))
scanning.MAX_SECONDS = reading.COUNT_SECONDS = SECONDS  # upstream goes on with abandoned calls

if __name__ == "__main__":
    main()
