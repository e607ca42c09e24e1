"""Endpoints of permissions, invitations, links and labels."""

import msgspec
import pytest

from sandbox.collab import records as r


def code(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.fixture
def place(world):
    return f"/drives/{world.documents.drive_id}/items/{world.text.id}"


async def listed(client, place):
    return (await client.get(f"{place}/permissions")).json()["value"]


async def test_file_inherits_the_groups_of_its_site(client, place):
    shown = [
        (permission["roles"], permission["grantedToV2"]["siteGroup"]["displayName"])
        for permission in await listed(client, place)
    ]

    assert shown == [
        (["owner"], "Yard Owners"),
        (["write"], "Yard Members"),
        (["read"], "Yard Visitors"),
    ]


async def test_personal_file_has_an_owner(client, world):
    [owner] = await listed(client, f"/drives/{world.own.drive_id}/items/root")

    assert owner["roles"] == ["owner"]
    assert owner["grantedToV2"]["user"]["email"] == "ann@x.test"


async def test_repeated_invitation_updates_the_permission(client, world, place):
    body = {"recipients": [{"email": "Bob@x.test"}], "roles": ["read"], "requireSignIn": True,
            "sendInvitation": False, "message": "look"}  # fmt: skip
    first = (await client.post(f"{place}/invite", json=body)).json()["value"]
    again = (await client.post(f"{place}/invite", json={**body, "roles": ["write"]})).json()

    assert first[0]["grantedToV2"]["user"]["email"] == "bob@x.test"
    assert first[0]["grantedToV2"]["siteUser"]["loginName"] == "i:0#.f|membership|bob@x.test"
    assert [permission["id"] for permission in again["value"]] == [first[0]["id"]]
    assert (await listed(client, place))[-1]["roles"] == ["write"]
    assert (await client.get(place)).json()["shared"] == {"scope": "users"}


async def test_folder_permission_is_inherited(client, world):
    drive = world.documents.drive_id
    body = {"recipients": [{"email": "bob@x.test"}], "roles": ["read"]}
    invited = await client.post(f"/drives/{drive}/items/{world.boats.id}/invite", json=body)
    permission = invited.json()["value"][0]["id"]
    below = f"/drives/{drive}/items/{world.plan.id}"

    assert (await listed(client, below))[-1]["id"] == permission
    assert code(await client.delete(f"{below}/permissions/{permission}")) == (403, "accessDenied")


@pytest.mark.parametrize(
    "change",
    [
        {"recipients": []},
        {"recipients": [{"email": "nobody"}]},
        {"roles": ["owner"]},
        {"roles": []},
        {"message": "x" * 2001},
    ],
)
async def test_invalid_invitation_is_refused(client, world, place, change):
    body = {"recipients": [{"email": "bob@x.test"}], "roles": ["read"], **change}

    assert (await client.post(f"{place}/invite", json=body)).status_code == 400
    assert world.store.shares(world.text) == []


async def test_link_of_the_same_type_and_scope_is_reused(client, place):
    body = {"type": "view", "scope": "anonymous"}
    made = await client.post(f"{place}/createLink", json=body)
    again = await client.post(f"{place}/createLink", json=body)
    other = await client.post(f"{place}/createLink", json={**body, "type": "edit"})

    assert (made.status_code, again.status_code, other.status_code) == (201, 200, 201)
    assert made.json()["id"] == again.json()["id"]
    assert made.json()["link"]["scope"] == "anonymous"
    assert other.json()["roles"] == ["write"]
    assert (await client.get(place)).json()["shared"] == {"scope": "anonymous"}


@pytest.mark.parametrize(
    "row",
    [
        ("anonymous", "anonymous", True),
        ("organization", "anonymous", False),
        ("organization", "organization", True),
        ("", "organization", False),
    ],
)
async def test_sharing_policy_of_the_site_is_enforced(client, world, place, row):
    sharing, scope, allowed = row
    world.store.put(msgspec.structs.replace(world.yard, sharing=sharing))
    response = await client.post(f"{place}/createLink", json={"type": "view", "scope": scope})

    assert (response.status_code == 201) is allowed
    if not allowed:
        assert code(response) == (403, "notAllowed")


async def test_permission_is_changed_and_removed(client, place):
    body = {"recipients": [{"email": "bob@x.test"}], "roles": ["read"]}
    permission = (await client.post(f"{place}/invite", json=body)).json()["value"][0]["id"]
    changed = await client.patch(f"{place}/permissions/{permission}", json={"roles": ["write"]})
    gone = await client.delete(f"{place}/permissions/{permission}")

    assert changed.json()["roles"] == ["write"]
    assert gone.status_code == 204
    assert code(await client.get(f"{place}/permissions/{permission}")) == (404, "itemNotFound")


async def test_inherited_groups_cannot_be_changed_on_a_file(client, place):
    group = (await listed(client, place))[0]["id"]
    response = await client.patch(f"{place}/permissions/{group}", json={"roles": ["read"]})

    assert code(response) == (403, "accessDenied")


# -- labels


@pytest.fixture
def label(world):
    above = r.Label(id="aa", name="Secret", description="d", tooltip="t", color="Red", priority=1)
    below = r.Label(
        id="bb", name="Deep", description="", tooltip="", color="", priority=2, parent="aa",
        is_active=False,
    )  # fmt: skip
    world.store.put(above, below)
    return above


async def extracted(client, item):
    place = f"/drives/{item.drive_id}/items/{item.id}/extractSensitivityLabels"
    return await client.post(place)


async def test_label_of_a_file_is_extracted(client, world, label):
    world.store.put(msgspec.structs.replace(world.plan, label="aa", label_method="auto"))
    plain = (await extracted(client, world.plan)).json()
    world.store.settings.wraps_labels = True
    wrapped = (await extracted(client, world.plan)).json()

    expected = [
        {
            "sensitivityLabelId": "aa",
            "assignmentMethod": "auto",
            "tenantId": "6f2a1c52-8d0e-4b0b-9a57-3f1f0c7d2e11",
        }
    ]
    assert plain["labels"] == expected
    assert wrapped["value"] == {"labels": expected}


async def test_unlabelled_file_has_no_labels(client, world):
    assert (await extracted(client, world.plan)).json()["labels"] == []


@pytest.mark.parametrize(
    ("which", "change", "expected"),
    [
        ("plan", {"label_trouble": "fileDecryptionDeferred"}, (423, "fileDecryptionDeferred")),
        ("text", {}, (415, "unsupportedMediaType")),
        ("boats", {}, (400, "invalidRequest")),
    ],
)
async def test_unreadable_label_is_refused(client, world, which, change, expected):
    item = getattr(world, which)
    world.store.put(msgspec.structs.replace(item, **change))

    assert code(await extracted(client, item)) == expected


@pytest.mark.parametrize(
    "path",
    ["/security/dataSecurityAndGovernance/sensitivityLabels",
     "/me/dataSecurityAndGovernance/sensitivityLabels",
     "/users/ann@x.test/dataSecurityAndGovernance/sensitivityLabels"],
)  # fmt: skip
async def test_label_catalogue_is_nested(client, label, path):
    [above] = (await client.get(path)).json()["value"]

    assert (above["id"], above["displayName"], above["priority"]) == ("aa", "Secret", 1)
    assert [(sublabel["id"], sublabel["isEnabled"]) for sublabel in above["sublabels"]] == [
        ("bb", False)
    ]


@pytest.mark.parametrize(
    "path",
    ["/security/informationProtection/sensitivityLabels",
     "/me/security/informationProtection/sensitivityLabels"],
)  # fmt: skip
async def test_beta_label_catalogue_is_flat(client_with, label, path):
    client = client_with("InformationProtectionPolicy.Read", version="beta")
    above, below = (await client.get(path)).json()["value"]

    assert (above["name"], above["sensitivity"], above["isAppliable"]) == ("Secret", 1, False)
    assert below["parent"] == {"id": "aa", "name": "Secret"}
    assert (below["isActive"], below["isAppliable"]) == (False, False)


async def test_each_label_catalogue_needs_its_own_scope(client_with, label):
    stable, beta = (
        "/security/dataSecurityAndGovernance/sensitivityLabels",
        "/security/informationProtection/sensitivityLabels",
    )
    only_beta = client_with("InformationProtectionPolicy.Read")
    only_stable = client_with("SensitivityLabel.Read", version="beta")

    assert code(await only_beta.get(stable)) == (403, "Authorization_RequestDenied")
    assert code(await only_beta.get(beta)) == (400, "BadRequest")
    assert code(await only_stable.get(beta)) == (403, "Authorization_RequestDenied")


async def test_beta_returns_the_label_of_an_item(client_with, world, label):
    world.store.put(msgspec.structs.replace(world.plan, label="aa"))
    client = client_with("Files.Read.All", version="beta")
    place = f"/drives/{world.plan.drive_id}/items/{world.plan.id}"
    record = (await client.get(f"{place}?$select=id,sensitivityLabel")).json()

    assert record["sensitivityLabel"] == {
        "id": "aa",
        "displayName": "Secret",
        "protectionEnabled": False,
    }
