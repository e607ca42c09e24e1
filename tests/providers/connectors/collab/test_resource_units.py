"""The connector keeps within upstream's budget of resource units."""

import pytest
from collab_upstream import ANN

from providers.failures import Throttled


def spent(tenant):
    return sum(units for _, units in tenant.store.spent_units[ANN])


async def read_site(connection, tenant):
    await connection.port.sites.get(tenant.yard.id.lower())


async def list_sites(connection, tenant):
    await connection.port.sites.visible()


async def repeat(read, connection, tenant):
    for _ in range(201):
        await read(connection, tenant)


@pytest.mark.parametrize("read", [read_site, list_sites])
async def test_calls_stop_before_upstream_refuses_them(tenant, read):
    tenant.store.settings.units = 200
    connection = tenant.delegated()

    with pytest.raises(Throttled) as caught:
        await repeat(read, connection, tenant)

    assert 196 <= spent(tenant) <= 200  # a refused call would be counted as well
    assert 1 <= caught.value.retry_after <= 60
    calls = len(tenant.calls)
    with pytest.raises(Throttled):
        await read(connection, tenant)
    assert len(tenant.calls) == calls


async def test_a_budget_that_is_spent_already_is_a_throttle_with_its_wait(tenant):
    tenant.store.settings.units = 0

    with pytest.raises(Throttled) as caught:
        await read_site(tenant.delegated(), tenant)

    assert 59 <= caught.value.retry_after <= 60
    assert len(tenant.calls) == 1
