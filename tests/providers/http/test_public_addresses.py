"""Which addresses are public: IANA's special-purpose registries, and IPv4 inside IPv6."""

import csv
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path

import pytest

from providers.http.pool import is_public

DATA = Path(__file__).parent / "data" / "special_purpose_addresses.csv"
ROWS = [
    (ip_network(block), name, reachable)
    for block, name, reachable in csv.reader(
        line for line in DATA.read_text().splitlines() if not line.startswith("#")
    )
]
UNREACHABLE = [
    network
    for network, name, reachable in ROWS
    if reachable != "True" and name != "6to4"  # which is where the address leads that it carries
]
# Rows that are reachable, and lie in a block of protocol assignments, which are no servers.
ASSIGNED = [ip_network(block) for block in ("192.0.0.0/24", "2001::/23")]


def addresses_of(network):
    """The first, the second, a middle and the last address of a block."""
    size = network.num_addresses
    return [network[place] for place in sorted({0, min(1, size - 1), size // 2, size - 1})]


def embeddings(address):
    """Every form of IPv6 that carries an IPv4 address."""
    number, ones = int(address), 0xFFFF_FFFF
    return {
        "mapped": IPv6Address(0xFFFF << 32 | number),
        "translated": IPv6Address(0xFFFF << 48 | number),
        "compatible": IPv6Address(number),
        "NAT64": IPv6Address((0x64FF9B << 96) | number),
        "NAT64 for local use": IPv6Address((0x64FF9B0001 << 80) | number),
        "6to4": IPv6Address((0x2002 << 112) | (number << 80) | 1),
        "Teredo server": IPv6Address((0x20010000 << 96) | (number << 64) | ones),
        "Teredo client": IPv6Address((0x20010000 << 96) | (number ^ ones)),
    }


def test_the_data_have_both_registries():
    assert len(ROWS) == 51
    assert len(UNREACHABLE) == 36  # without 6to4


@pytest.mark.parametrize("network", UNREACHABLE, ids=str)
def test_a_special_block_is_not_public(network):
    for address in addresses_of(network):
        assert not is_public(str(address)), address
        if isinstance(address, IPv4Address):
            carried = {form: is_public(str(each)) for form, each in embeddings(address).items()}
            assert not any(carried.values()), (address, carried)


@pytest.mark.parametrize(
    "network", [network for network, _, reachable in ROWS if reachable == "True"], ids=str
)
def test_a_block_that_is_reachable_is_public_unless_it_is_an_assignment(network):
    if network.prefixlen == 96:  # NAT64: as the address that it carries
        return
    assigned = any(
        network.version == block.version and network.subnet_of(block) for block in ASSIGNED
    )
    for address in addresses_of(network):
        assert is_public(str(address)) is not assigned, address


@pytest.mark.parametrize(
    ("form", "public"), [("NAT64", True), ("6to4", True), ("mapped", False), ("compatible", False)]
)
def test_a_form_that_carries_a_public_address(form, public):
    assert is_public(str(embeddings(IPv4Address("192.31.196.1"))[form])) is public


@pytest.mark.parametrize(
    "address",
    [
        "fec0::1",
        "feff::1",
        "ff02::1",
        "ff0e::1",
        "224.0.0.1",
        "239.255.255.255",
        "::ffff:0:127.0.0.1",
        "200::1",
        "400::1",
        "4000::1",
        "8000::1",
        "e000::1",
        "fe00::1",
    ],
)
def test_what_no_registry_gives_to_servers_is_not_public(address):
    assert not is_public(address)
