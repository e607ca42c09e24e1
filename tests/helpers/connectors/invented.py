"""An invented connector in a single file: mailboxes of an own server that has one message."""

from providers.catalogue.descriptors import Connector, OwnServer, Service
from providers.failures import Missing
from providers.ports.checks import Finding, Outcome
from providers.ports.mail import MailSlice
from providers.records.mail import Email

CONNECTOR = Connector(
    code="INVENTED",
    name="Invented mail",
    mail_prefix="invented",
    mail_id=r"m\d+",
    own_server=OwnServer(protocol="Invented", example="https://mail.example.org", scheme="https"),
    services=(
        Service(
            kind="email",
            product="invented mail server",
            port=f"{__name__}:InventedMailbox",
            checks=f"{__name__}:check",
        ),
    ),
)
MESSAGE = Email(id="m1", provider=CONNECTOR.code, subject="Invented")


class InventedMailbox:
    def __init__(self, opening):
        assert opening.info.base_url == "https://mail.example.org"

    async def search(self, _query, *, after, projection):
        assert (after, "subject" in projection) == (None, True)
        return MailSlice(
            emails=(MESSAGE,), scanned_to=None, exhausted=True, total=1, total_exact=True
        )

    async def get(self, message_id, *, projection):
        if message_id != MESSAGE.id:
            raise Missing
        return MESSAGE

    async def probe(self):
        pass


async def check(opening):
    return [Finding(item="invented", outcome=Outcome.AS_EXPECTED, detail=opening.info.kind)]
