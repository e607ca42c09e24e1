"""Fixtures and settings of the whole suite."""

from hypothesis import HealthCheck, settings

# The suite runs on small shared machines: slowness is not a failure, and no test asserts on time.
settings.register_profile(
    "gateway", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.load_profile("gateway")
