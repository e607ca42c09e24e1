"""Baselines: common alternatives to the gateway; doubtful choices are made in their favour."""
