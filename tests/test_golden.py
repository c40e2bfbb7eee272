"""Answers stay as they were written down in tests/golden.json, but for the rounding of other machines."""

import pytest

import golden

STORED = golden.read()


def test_every_setting_is_written_down():
    assert list(STORED["settings"]) == list(golden.SETTINGS)


@pytest.mark.parametrize("name", golden.SETTINGS)
def test_answers_are_as_they_were(name, request):
    if name in golden.TORCH:
        request.getfixturevalue("torch")
    found = golden.differences(name, STORED["settings"][name], golden.run(name), golden.near)
    assert not found, (found, f"written with {STORED['libraries']}, and this is {golden.libraries()}")
