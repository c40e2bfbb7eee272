"""A few generated lives and tables, the same at every run; `make fuzz` tries new ones for as long as one likes."""

import fuzzing


def test_an_encoder_is_what_its_rows_are_whatever_happened_to_it():
    fuzzing.try_lives(12, derandomize=True, database=None)
    assert fuzzing.TRIED["cells compared"] > 100


def test_any_table_is_encoded_or_refused_in_a_sentence():
    fuzzing.try_tables(60, derandomize=True, database=None)
    assert fuzzing.TRIED["saved and loaded"] > 3
    assert fuzzing.TRIED["refused"] > 3
