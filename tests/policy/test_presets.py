"""Presets: how they contain one another, and that none reveals what it hides."""

import pytest

from policy import containment, describe, grants
from policy.presets import PRESETS, Preset

READERS = {Preset.READER, Preset.CALENDAR_BUSY, Preset.FILES_READER}
# Preset -> the presets that allow no more than it does.
CONTAINED = {
    Preset.READER: READERS,
    Preset.DRAFTS: {Preset.DRAFTS},
    Preset.SENDER: {Preset.SENDER},
    Preset.CALENDAR_BUSY: {Preset.CALENDAR_BUSY},
    Preset.TASKS: {Preset.TASKS},
    Preset.FILES_READER: {Preset.FILES_READER},
    Preset.FULL: set(Preset),
}


def grant(preset):
    return grants.Grant.read(grants.validate(PRESETS[preset].settings))


def reach(preset):
    """Return the settings as they count: a surface that is off allows nothing."""
    settings = grants.validate(PRESETS[preset].settings)
    if not settings["emailAccessEnabled"]:
        settings |= {"allowedEmailOperations": [], "sendMode": "draft"}
    if not settings["calendarAccessEnabled"]:
        settings["calendarAccessLevel"] = "free_busy_only"
    if not settings["collabAccessEnabled"]:
        settings["allowedCollabOperations"] = []
    return grants.Grant.read(settings)


@pytest.mark.parametrize("preset", Preset)
def test_a_preset_contains_exactly_these(preset):
    contained = {
        other for other in Preset if not containment.widened_settings(reach(preset), reach(other))
    }

    assert contained == CONTAINED[preset]


@pytest.mark.parametrize("preset", Preset)
def test_no_preset_reveals_what_it_hides_or_is_useless(preset):
    assert describe.warnings(grant(preset), has_block_rules=False) == []


def test_every_preset_has_settings_and_one_sentence():
    assert list(PRESETS) == list(Preset)
    for sentence, settings in PRESETS.values():
        assert settings
        assert sentence.endswith(".")
        assert ". " not in sentence
