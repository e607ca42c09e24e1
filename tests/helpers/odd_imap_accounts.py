"""The accounts of the odd IMAP server: answers to logins, folders and body structures."""

CAPABILITIES = "IMAP4rev1 LITERAL+ UIDPLUS MOVE ID UNSELECT CHILDREN NAMESPACE"
# Behaviour -> further capabilities.
ANNOUNCED = {
    **dict.fromkeys(("partial", "gmail", "virtual"), " SPECIAL-USE"),
    "gmail_ext": " SPECIAL-USE X-GM-EXT-1",
    "gmail_changed": " SPECIAL-USE X-GM-EXT-1",
}

# Behaviour -> the answer to LOGIN.
LOGINS = {
    "loginlimit": "NO [LIMIT] LOGIN Rate limit hit.",
    "loginsimul": "NO [ALERT] Too many simultaneous connections. (Failure)",
    "loginmax": "NO Maximum number of connections from user+IP exceeded (mail_max_userip=10)",
    "loginunavailable": "NO [UNAVAILABLE] Temporary authentication failure.",
    "logininuse": "NO [INUSE] Mailbox in use",
    "loginthrottled": "NO [THROTTLED] Account exceeded command limits",
    "loginquota": "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)",
    "loginserverbug": "NO [SERVERBUG] Internal error occurred.",
    "loginyahoo": "NO [AUTHENTICATIONFAILED] LOGIN Server error - Please try again later",
    "logingmail": "NO System Error (Failure)",
    "loginlocked": "NO [AUTHENTICATIONFAILED] Too many failed login attempts",
    "loginbackoff": "BAD Request is throttled. Suggested Backoff Time: 2001 milliseconds",
    "loginexchange": "BAD User is authenticated but not connected.",
    "loginbad": "BAD Command Argument Error. 12",
    "logingerman": "NO Zu viele gleichzeitige Verbindungen",
    "logingermanlater": "NO Der Dienst ist vorübergehend nicht verfügbar",
    "loginfrench": "NO Trop de connexions simultanées",
    "loginspanish": "NO Servicio no disponible, inténtelo más tarde",
    "loginitalian": "NO Servizio temporaneamente non disponibile",
    "loginportuguese": "NO Muitas conexões, tente novamente mais tarde",
    "loginqq": "NO 登录过于频繁,请稍后再试",
    "loginjapanese": "NO しばらくしてからもう一度お試しください",
    "loginrussian": "NO Слишком много подключений, попробуйте позже",
    "loginpolish": "NO Zbyt wiele połączeń",
    "loginweb": "NO [ALERT] Please log in via your web browser: https://support.example/accounts",
    "loginapp": "NO [ALERT] Application-specific password required",
    "loginwrong": "NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)",
    "loginretry": "NO Invalid user name or password, please try again",
    "loginexpired": "NO [EXPIRED] Password expired",
    "loginbadword": "BAD invalid user or password",
}
BASE64 = b"SGVsbG8gZmlsZQ==\r\n"
_FILE = (
    '(("text" "plain" ("charset" "utf-8") NIL NIL "8bit" 18 1)("application" "octet-stream" '
    '("name" {name}) NIL {description} "base64" 18 NIL ("attachment" ("filename" {name})) NIL NIL)'
    ' "mixed" ("boundary" "x") NIL NIL NIL)'
)
STRUCTURES = {
    "netease": _FILE.format(name='"a.pdf"', description='""""'),
    "quotedname": _FILE.format(name='"my "best" file.pdf"', description='"the "b" file"'),
    "nilparam": (
        '(("text" "plain" ("charset" "utf-8") NIL NIL "8bit" 18 1 NIL NIL NIL NIL)("text" "html" '
        '("charset" NIL) NIL NIL "8bit" 0 0 NIL NIL NIL NIL) "alternative" ("boundary" NIL))'
    ),
    "negsize": (
        '(("text" "plain" NIL NIL NIL "7bit" 18 1)("message" "rfc822" NIL NIL NIL "8bit" 0 '
        '(NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL) ("multipart" "parallel" ("boundary" "z") '
        'NIL NIL "7BIT" -1) 0) "report")'
    ),
    "fewfields": '("TEXT" "PLAIN" ("CHARSET" "utf-8") NIL NIL "8BIT" 18)',
    "nilbody": "NIL",
}
FILE_TEXT = b"text of the mail\r\n"


def message(number, subject=None, body=None):
    """Return a message of one minute."""
    return (
        f"Date: Tue, 06 Oct 2026 10:00:{number:02d} +0000\r\n"
        "From: Ann <ann@sender.example>\r\nTo: reader@here.example\r\n"
        f"Subject: {subject or f'Subject {number}'}\r\nMessage-ID: <f{number}@sender.example>\r\n"
        "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        f"{body or f'Hello {number}'}\r\n"
    ).encode()


class Box:
    """A folder: its messages by UID."""

    def __init__(self, name, messages=None, flags="\\HasNoChildren", labels=None):
        self.name, self.flags, self.messages = name, flags, dict(messages or {})
        self.labels = labels or {}

    @property
    def uid_next(self):
        return max(self.messages, default=0) + 1


ORDINARY = {number: message(number) for number in (1, 2, 3)}
SENT, DELETED, PILLS, DRAFT = (
    {1: message(number, subject)}
    for number, subject in ((11, "Sent one"), (12, "Deleted one"), (13, "Buy pills"), (14, "Draft"))
)


def special(sent, drafts, trash, junk, *, flags="\\HasNoChildren"):
    """Return an inbox and four folders of these names."""
    names = dict(zip((sent, drafts, trash, junk), (SENT, DRAFT, DELETED, PILLS), strict=True))
    return [Box("INBOX", ORDINARY), *(Box(name, some, flags) for name, some in names.items())]


def gmail_boxes(root, *, flagged=True):
    first, second = message(1, "In the inbox, starred"), message(2, "In the inbox, labelled")
    third, sent = message(3, "Archived without label"), message(4, "Sent one")

    def view(name, messages, flag, **more):
        flags = f"\\HasNoChildren {flag}" if flagged else "\\HasNoChildren"
        return Box(f"{root}/{name}", messages, flags, **more)

    labels = {1: '"\\\\Inbox" "\\\\Starred"', 2: '"\\\\Inbox" "Client A"', 4: '"\\\\Sent"'}
    return [
        Box("INBOX", {1: first, 2: second}),
        Box("Client A", {5: second}),
        Box(root, {}, "\\HasChildren \\Noselect"),
        view("All Mail", {1: first, 2: second, 3: third, 4: sent}, "\\All", labels=labels),
        view("Starred", {7: first}, "\\Flagged"),
        view("Important", {8: first, 9: second}, "\\Important"),
        view("Sent Mail", {1: sent}, "\\Sent"),
        view("Trash", DELETED, "\\Trash"),
        view("Spam", PILLS, "\\Junk"),
        view("Drafts", DRAFT, "\\Drafts"),
    ]


# Behaviour -> how its folders are made; else an inbox of three messages.
BOXES = {
    "exchange": lambda: [
        *special("Sent Items", "Drafts", "Deleted Items", "Junk Email"),
        *map(Box, ("Calendar", "Contacts", "Outbox")),
    ],
    "partial": lambda: [
        *special("Sent Items", "Drafts", "Deleted Items", "Spam")[:4],
        Box("Spam", PILLS, "\\HasNoChildren \\Junk"),
        Box("Bulk", {}, "\\HasNoChildren"),
    ],
    "german": lambda: special("Gesendete Objekte", "Entw&APw-rfe", "Papierkorb", "Spamverdacht"),
    "french": lambda: special(
        "&AMk-l&AOk-ments envoy&AOk-s",
        "Brouillons",
        "&AMk-l&AOk-ments supprim&AOk-s",
        "Courrier ind&AOk-sirable",
    ),
    "spanish": lambda: special("Enviados", "Borradores", "Papelera", "Correo no deseado"),
    "italian": lambda: special("Posta inviata", "Bozze", "Cestino", "Posta indesiderata"),
    "portuguese": lambda: special(
        "Itens Enviados", "Rascunhos", "Itens Exclu&AO0-dos", "Lixo Eletr&APQ-nico"
    ),
    "dutch": lambda: special("Verzonden items", "Concepten", "Prullenbak", "Ongewenste e-mail"),
    "polish": lambda: special(
        "Elementy wys&AUI-ane", "Kopie robocze", "Kosz", "Wiadomo&AVs-ci-&AVs-mieci"
    ),
    "swedish": lambda: special("Skickat", "Utkast", "Papperskorgen", "Skr&AOQ-ppost"),
    "danish": lambda: special("Sendt post", "Kladder", "Slettet post", "U&APg-nsket mail"),
    "norwegian": lambda: special(
        "Sendte elementer", "Kladd", "Slettede elementer", "S&APg-ppelpost"
    ),
    "russian": lambda: special(
        "&BB4EQgQ,BEAEMAQyBDsENQQ9BD0ESwQ1-",
        "&BCcENQRABD0EPgQyBDgEOgQ4-",
        "&BBoEPgRABDcEOAQ9BDA-",
        "&BCEEPwQwBDw-",
    ),
    "chinese": lambda: special("&XfJT0ZAB-", "&g0l6P3ux-", "&XfJSIJZk-", "&V4NXPpCuTvY-"),
    "japanese": lambda: special("&kAFP4W4IMH8-", "&Tgtm+DBN-", "&MLQw33ux-", "&j,dg0TDhMPww6w-"),
    "courier_names": lambda: special(
        "INBOX.Sent", "INBOX.Drafts", "INBOX.Trash", "INBOX.Junk", flags="\\HasNoChildren"
    ),
    "nested": lambda: [
        Box("INBOX", ORDINARY),
        Box("Projects", {}, "\\HasChildren \\Noselect"),
        Box("Projects/Spam", PILLS),
    ],
    "gmail": lambda: gmail_boxes("[Gmail]"),
    "gmail_ext": lambda: gmail_boxes("[Gmail]"),
    "gmail_changed": lambda: gmail_boxes("[Gmail]"),
    "googlemail": lambda: gmail_boxes("[Google Mail]", flagged=False),
    "virtual": lambda: [
        Box("INBOX", ORDINARY),
        Box("Virtual/Starred", {1: ORDINARY[1]}, "\\Flagged"),
        Box("Virtual/All", ORDINARY, "\\All"),
    ],
    "badsearch": lambda: [
        Box("INBOX", {1: message(1, "=?utf-8?Q?B=C3=BCro?= one"), 2: message(2, "plain two")})
    ],
}
# The same folders, and another refusal of the charset.
BOXES |= dict.fromkeys(("badcharset", "badsyntax"), BOXES["badsearch"])
