"""
List, open and send drafts of the gateway with Gmail's unchanged Python client.

What is opened and sent must be the message that the same call sends in direct mode.
"""

import base64
import json
from importlib.resources import files
from pathlib import Path

from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document
from same_mail import content_of
from serving import served


def client_of(base, token):
    documents = files("googleapiclient.discovery_cache").joinpath("documents/gmail.v1.json")
    document = json.loads(documents.read_text("utf-8"))
    document.pop("mtlsRootUrl", None)
    document["rootUrl"] = f"{base}/"
    document["baseUrl"] = document["rootUrl"] + document["servicePath"]
    return build_from_document(document, credentials=Credentials(token=token)).users()


def read(users, message_id):
    message = users.messages().get(userId="me", id=message_id, format="raw").execute()
    raw = base64.urlsafe_b64decode(message["raw"] + "===")
    return content_of(raw), message["threadId"]


def opened(users, draft_id):
    draft = users.drafts().get(userId="me", id=draft_id, format="raw").execute()
    return content_of(base64.urlsafe_b64decode(draft["message"]["raw"] + "==="))


def main():
    with served(Path(__file__).with_name("seed.py")) as facts:
        users = client_of(f"{facts['url']}/provider-a", facts["token"])
        listed = users.drafts().list(userId="me").execute()["drafts"]
        drafts = {draft["message"]["id"]: draft["id"] for draft in listed}
        assert len(drafts) == len(facts["pairs"]) == 9
        for kind, (direct, held) in facts["pairs"].items():
            content = opened(users, drafts[held])
            sent = users.drafts().send(userId="me", body={"id": drafts[held]}).execute()
            sent_content, thread = read(users, sent["id"])
            expected, expected_thread = read(users, direct)
            assert content == expected, (kind, content, expected)
            assert sent_content == expected, (kind, sent_content, expected)
            assert (thread == expected_thread) is kind.startswith("reply"), kind
        assert "drafts" not in users.drafts().list(userId="me").execute()
    print(f"provider A: {len(facts['pairs'])} drafts opened and sent, each as a direct send")


main()
