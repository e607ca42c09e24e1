"""
IMAP servers that behave as public reports of mail programs tell, by REST and by GraphQL.

The source of each row is the place where the behaviour was reported, or the RFC that allows it.
"""

import pytest
import pytest_asyncio
from odd_imap import odd_imap

pytestmark = pytest.mark.asyncio(loop_scope="session")

MESSAGES = "/api/access/email/messages"
THREE = ["Subject 3", "Subject 2", "Subject 1"]
QUERY = """query($label: String, $q: String, $subject: String) {
  emails(label: $label, q: $q, subject: $subject) {
    totalCount
    emails { id subject bodyPreview labels from { email } attachments { name } }
  }
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server():
    async with odd_imap() as server:
        yield server


@pytest.fixture
def account(shared_world, server):
    """Return a function that connects an account and returns its caller."""

    async def connect(name, **more):
        made = await shared_world.admin.post(
            "/api/connections",
            json={
                "resourceId": 1,
                "operatorId": shared_world.operator_id,
                "kind": "email",
                "provider": "IMAP",
                "accountEmail": f"{name}@here.example",
                "baseUrl": f"imap+plain://127.0.0.1:{server.port}",
                "credentials": {"username": f"{name}@here.example", "password": "right", **more},
            },
        )
        assert made.status_code == 201, made.text
        return Account(shared_world, made.json()["id"])

    return connect


class Account:
    """A connection and a token for it alone."""

    def __init__(self, world, connection):
        self._world, self._connection, self._token = world, connection, None

    async def client(self):
        if self._token is None:
            settings = {
                "allowedConnectionIds": [self._connection],
                "allowedEmailOperations": ["all"],
            }
            self._token = await self._world.token(settings)
        return self._world.client(self._token)

    async def get(self, path=MESSAGES, **params):
        async with await self.client() as client:
            return await client.get(path, params=params)

    async def patch(self, path, **changes):
        async with await self.client() as client:
            return await client.patch(path, json=changes)

    async def query(self, **variables):
        async with await self.client() as client:
            body = {"query": QUERY, "variables": variables}
            return (await client.post("/graphql", json=body)).json()

    async def emails(self, **params):
        """Return the emails that both interfaces list."""
        listed = await self.get(**params)
        assert listed.status_code == 200, listed.text
        queried = (await self.query(**params))["data"]["emails"]
        ids = [email["id"] for email in listed.json()["emails"]]
        assert ids == [email["id"] for email in queried["emails"]]
        return queried["emails"]

    async def subjects(self, **params):
        return [email["subject"] for email in await self.emails(**params)]

    async def status(self):
        path = f"/api/connections/{self._connection}"
        return (await self._world.admin.get(path)).json()["status"]


# -- logins that are refused for now

TEMPORARY = {
    "loginlimit": 1,  # RFC 5530; reports of imapflow
    "logininuse": 1,  # RFC 5530
    "loginsimul": 60,  # jstedfast/MailKit#377, thunderbird/thunderbird-android#2254
    "loginmax": 60,  # Dovecot's words, nextcloud/mail#9156
    "loginunavailable": 60,  # RFC 5530; Dovecot's words
    "loginthrottled": 60,  # Gmail's code
    "loginquota": 60,  # ljmerza/ha-email-sensor#16
    "loginyahoo": 60,  # a fault of Yahoo's own
    "logingmail": 60,  # Gmail help, "System error"
    "loginlocked": 60,
    "loginbackoff": 3,  # ikvk/imap_tools#135
    "loginexchange": 60,  # Exchange Online, reports of imapsync
    "loginbye": 60,  # reports of MailKit
    "logingerman": 60,
    "logingermanlater": 60,
    "loginfrench": 60,
    "loginspanish": 60,
    "loginitalian": 60,
    "loginportuguese": 60,
    "loginqq": 60,
    "loginjapanese": 60,
    "loginrussian": 60,
    "loginpolish": 60,
}


@pytest.mark.parametrize(("name", "seconds"), TEMPORARY.items())
async def test_a_login_that_is_refused_for_now_is_a_throttle(account, name, seconds):
    reader = await account(name)

    listed = await reader.get()
    queried = await reader.query()

    assert listed.status_code == 429, listed.text
    assert listed.headers["retry-after"] == str(seconds)
    assert queried["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert await reader.status() == "active"


@pytest.mark.parametrize("name", ["loginserverbug", "loginbad"])
async def test_a_fault_of_the_server_at_the_login_does_not_judge_the_password(account, name):
    reader = await account(name)

    listed = await reader.get()

    assert (listed.status_code, listed.json()["error"]) == (502, "PROVIDER_ERROR")
    assert await reader.status() == "active"


@pytest.mark.parametrize(
    "name", ["loginweb", "loginapp", "loginwrong", "loginretry", "loginexpired", "loginbadword"]
)
async def test_a_login_that_a_person_must_mend_needs_a_person(account, name):
    reader = await account(name)

    listed = await reader.get()

    assert (listed.status_code, listed.json()["error"]) == (502, "PROVIDER_ERROR")
    assert await reader.status() == "needs_reauth"


# -- commands that are refused for now


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("throttle", 93),  # simonrob/email-oauth2-proxy#191, postalsys/emailengine#360
        ("overquota", 60),  # chatwoot/chatwoot#6082
        ("statusno", 60),  # lefcha/imapfilter#146
        ("connected", 60),  # Exchange Online, reports of imapflow
        ("bye", 60),
    ],
)
async def test_a_command_that_is_refused_for_now_is_a_throttle(account, name, seconds):
    reader = await account(name)

    listed = await reader.get()
    queried = await reader.query()

    assert listed.status_code == 429, listed.text
    assert listed.headers["retry-after"] == str(seconds)
    assert queried["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert await reader.status() == "active"


# -- spellings of answers


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "courier",  # mobizt/ESP-Mail-Client#10; RFC 3501, 9: header-fld-name = astring
        "reordered",
        "lower",  # RFC 3501, 9
        "nospace",
        "blank",  # python/cpython#88574, mjs/imapclient#162
        "emptyline",  # jstedfast/MailKit#225
        "spaceparen",  # jakartaee/mail-api#209
        "expunge",
        "flagsafter",  # RFC 3501, 7.4.2
        "atomlist",  # RFC 3501, 9
        "atomstatus",
        "inboxcase",  # RFC 3501, 5.1; mjl-/mox#80
        "recent",  # RFC 3501, 2.3.2
        "partial_range",  # nodemailer/wildduck#32
        "partial_none",
        "nostatus",
        "needsid",  # 163.com lets nobody read who does not say a name (RFC 2971)
    ],
)
async def test_mail_is_read_from_servers_that_spell_otherwise(account, name):
    reader = await account(name)

    emails = await reader.emails()

    shown = [
        (email["subject"], email["bodyPreview"], email["labels"], email["from"]["email"])
        for email in emails
    ]
    assert shown == [
        (f"Subject {number}", f"Hello {number}", ["INBOX"], "ann@sender.example")
        for number in (3, 2, 1)
    ]


async def test_an_inbox_that_the_server_does_not_open_is_a_failure_and_not_empty(account):
    reader = await account("nostatusnorselect")

    listed = await reader.get()

    assert (listed.status_code, listed.json()["error"]) == (502, "PROVIDER_ERROR")


# -- structures of messages


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("netease", "a.pdf"),  # emersion/go-imap#659
        ("quotedname", 'my "best" file.pdf'),
    ],
)
async def test_quotes_that_are_not_escaped_do_not_shift_a_structure(account, name, file):
    reader = await account(name)

    email = (await reader.emails())[0]
    detail = (await reader.get(f"{MESSAGES}/{email['id']}")).json()
    (attachment,) = detail["attachments"]
    content = await reader.get(f"{MESSAGES}/{email['id']}/attachments/{attachment['id']}")

    assert (attachment["name"], attachment["contentType"]) == (file, "application/octet-stream")
    assert (content.status_code, content.content) == (200, b"Hello file")
    assert detail["body"] == "text of the mail\r\n"


@pytest.mark.parametrize(
    "name",
    [
        "nilparam",  # kisli/vmime#159
        "negsize",  # emersion/go-imap#534
        "fewfields",  # RFC 3501, 7.4.2
        "nilbody",
    ],
)
async def test_an_odd_structure_hides_no_message(account, name):
    reader = await account(name)

    assert await reader.subjects() == THREE


# -- searches


@pytest.mark.parametrize(
    "name",
    [
        "badsearch",  # emersion/go-imap#48, pimalaya/himalaya#635; RFC 3501, 6.4.4: a SHOULD
        "badcharset",
        "badsyntax",
    ],
)
async def test_a_server_without_the_charset_is_searched_all_the_same(account, name):
    reader = await account(name)

    assert await reader.subjects(q="Büro") == ["Büro one"]
    assert await reader.subjects(subject="Büro") == ["Büro one"]


# -- folders

WORLDS = [
    "exchange",  # huacnlee/omamail#90, nylas/nylas-mail#1185
    "partial",  # emailjs/emailjs-imap-client#92
    "courier_names",
    "german",  # warmbly/warmbly#349, closeio/nylas#38
    *("french", "spanish", "italian", "portuguese", "dutch", "polish", "swedish", "danish"),
    *("norwegian", "russian", "chinese", "japanese"),
]


@pytest.mark.parametrize("name", WORLDS)
async def test_special_folders_are_found_by_flag_or_by_name(account, name):
    reader = await account(name)

    assert await reader.subjects() == ["Sent one", *THREE]
    by_label = {
        label: [(email["subject"], email["labels"]) for email in await reader.emails(label=label)]
        for label in ("SENT", "DRAFT", "TRASH", "SPAM")
    }
    assert by_label == {
        "SENT": [("Sent one", ["SENT"])],
        "DRAFT": [("Draft", ["DRAFT"])],
        "TRASH": [("Deleted one", ["TRASH"])],
        "SPAM": [("Buy pills", ["SPAM"])],
    }


async def test_a_folder_deep_below_others_is_the_owners_whatever_its_name(account):
    reader = await account("nested")

    (email, *_) = await reader.emails()

    assert (email["subject"], email["labels"]) == ("Buy pills", ["Projects/Spam"])


ORDINARY = ["Sent one", "Archived without label", "In the inbox, labelled", "In the inbox, starred"]


@pytest.mark.parametrize("name", ["gmail", "gmail_ext", "googlemail"])
async def test_gmail_shows_each_mail_once(account, name):
    """RFC 6154, 2 and RFC 8457: views; kellylford/QuickMail#103, postalsys/emailengine#467."""
    reader = await account(name)

    listed = await reader.get()

    assert await reader.subjects() == ORDINARY
    assert listed.json()["totalCount"] == 4
    for label, subjects in {
        "TRASH": ["Deleted one"],
        "SPAM": ["Buy pills"],
        "DRAFT": ["Draft"],
        "INBOX": ["In the inbox, labelled", "In the inbox, starred"],
        "SENT": ["Sent one"],
        "client a": ["In the inbox, labelled"],
    }.items():
        assert await reader.subjects(label=label) == subjects


async def test_labels_of_gmail_are_labels_and_an_email_has_one_id(account):
    reader = await account("gmail_ext")

    emails = {email["subject"]: email for email in await reader.emails()}

    assert {subject: email["labels"] for subject, email in emails.items()} == {
        "Sent one": ["SENT"],
        "Archived without label": [],
        "In the inbox, labelled": ["INBOX", "Client A"],
        "In the inbox, starred": ["INBOX", "STARRED"],
    }
    for label in ("INBOX", "SENT", "client a", "STARRED"):
        for email in await reader.emails(label=label):
            assert email["id"] == emails[email["subject"]]["id"]


async def test_labels_of_gmail_are_changed_as_labels(account, server):
    reader = await account("gmail_changed", submissionUrl="smtp+plain://127.0.0.1:1")
    emails = {email["subject"]: email["id"] for email in await reader.emails()}
    path = f"{MESSAGES}/{emails['In the inbox, labelled']}"

    changed = await reader.patch(
        path, addLabels=['Größe "x"', "STARRED", "client a"], removeLabels=["INBOX"]
    )

    assert changed.status_code == 200, changed.text
    read = (await reader.get(path)).json()
    assert sorted(read["labels"]) == ["Client A", 'Größe "x"', "STARRED"]
    heard = server.heard["gmail_changed@here.example"]
    assert [line for line in heard if "STORE" in line] == [
        r'UID STORE 2 +X-GM-LABELS.SILENT ("Gr&APYA3w-e \"x\"" \Starred)',
        r"UID STORE 2 -X-GM-LABELS.SILENT (\Inbox)",
    ]
    refused = await reader.patch(path, addLabels=["TRASH"])
    assert refused.status_code == 404, refused.text


async def test_views_repeat_no_message(account):
    reader = await account("virtual")

    assert await reader.subjects() == THREE
