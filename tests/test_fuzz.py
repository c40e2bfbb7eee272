"""A few generated lives and tables, the same at every run; `make fuzz` tries new ones for an hour."""

import fuzzing


def test_any_sequence_of_updates_gives_the_encoder_of_its_rows():
    fuzzing.try_lives(12, derandomize=True, database=None)
    assert fuzzing.TRIED["cells compared"] > 100


def test_any_table_is_encoded_or_raises_an_input_error():
    fuzzing.try_tables(60, derandomize=True, database=None)
    assert fuzzing.TRIED["saved and loaded"] > 3
    assert fuzzing.TRIED["refused"] > 3
