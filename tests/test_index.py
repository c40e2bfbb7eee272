"""Slots of a column, of several together, and of a column below others: what a plain loop over tuples finds."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catbayes.core import combinations
from catbayes.core.categories import Categories
from catbayes.core.combinations import Index

VALUES = [["eve", "bob", "ann", None], [3, 1, 2, None], [True, False, None]]
STRANGERS = ["joe", 99, "neither"]
MISSING, UNSEEN = "missing", "unseen"
BOTH_WAYS = pytest.mark.parametrize("dense", [0, 10**9], ids=["searched", "by table"])


def rows_of(width, strangers=False):
    """Lists of rows of so many columns, with values that the others have not if asked."""
    values = [[*column, stranger] if strangers else column for column, stranger in zip(VALUES, STRANGERS, strict=True)]
    return st.lists(st.tuples(*map(st.sampled_from, values[:width])), min_size=1, max_size=12)


SEEN_AND_NEW = st.integers(1, 3).flatmap(lambda width: st.tuples(rows_of(width), rows_of(width, strangers=True)))
ONE_AND_OTHER = st.integers(1, 3).flatmap(lambda width: st.tuples(rows_of(width), rows_of(width)))


def read(rows):
    """The index of some rows, and their slots."""
    sources, codes = zip(*(Categories.of(list(column)) for column in zip(*rows, strict=True)), strict=True)
    return Index.of(sources, codes)


def find(index, rows):
    """The slots of other rows."""
    columns = zip(*rows, strict=True)
    return index.slots([source.codes(list(column)) for source, column in zip(index.sources, columns, strict=True)])


def in_order(rows):
    """Distinct rows by their first value, then by the second, and so on; a missing one is last."""
    return sorted(set(rows), key=lambda row: [(value is None, value) for value in row])


def label(row):
    return "&".join("(missing)" if value is None else str(value) for value in row)


class Loop:
    """The slots as a list of tuples, by plain loops: categories, missing, unseen, then nodes, the parents first."""

    def __init__(self, rows, nested=False):
        self.width, self.nested = len(rows[0]), nested
        self.categories = [row for row in in_order(rows) if row != (None,)]
        self.slots = [*self.categories, MISSING, UNSEEN]
        for length in range(self.width - 1, 0, -1) if nested else ():
            self.slots += in_order([row[:length] for row in rows])

    def find(self, row):
        if row == (None,):
            return self.slots.index(MISSING)
        for length in range(self.width, 0 if self.nested else self.width - 1, -1):
            if row[:length] in self.slots:
                return self.slots.index(row[:length])
        return self.slots.index(UNSEEN)

    def labels(self):
        if self.width == 1:
            return [*(value for (value,) in self.categories), None, None]
        return [None if slot in (MISSING, UNSEEN) else label(slot) for slot in self.slots]

    def incomplete(self):
        return [
            slot == MISSING and self.width == 1 if slot in (MISSING, UNSEEN) else None in slot for slot in self.slots
        ]

    def up(self):
        above = [slot[:-1] if self.nested and slot not in (MISSING, UNSEEN) else () for slot in self.slots]
        return [self.slots.index(node or UNSEEN) for node in above]


@BOTH_WAYS
@pytest.mark.parametrize("nested", [False, True])
@given(tables=SEEN_AND_NEW)
def test_rows_have_the_slots_of_their_tuples_or_of_the_nearest_ancestor_seen(dense, nested, tables):
    rows, new = tables
    with mock.patch.object(combinations, "DENSE", dense):
        index, slots = read(rows)
        index, loop = index.nested() if nested else index, Loop(rows, nested)
        assert list(index.values) == loop.categories
        assert [index.missing, index.unseen, index.n_slots] == [
            *map(loop.slots.index, (MISSING, UNSEEN)),
            len(loop.slots),
        ]
        assert slots.tolist() == [loop.find(row) for row in rows]
        assert find(index, rows).tolist() == slots.tolist()
        assert find(index, new).tolist() == [loop.find(row) for row in new]


@pytest.mark.parametrize("nested", [False, True])
@given(tables=SEEN_AND_NEW)
def test_slots_are_named_and_know_what_is_missing_and_what_is_above_them(nested, tables):
    rows, new = tables
    index, loop = read(rows)[0], Loop(rows, nested)
    index = index.nested() if nested else index
    assert index.labels() == loop.labels()
    assert index.incomplete().tolist() == loop.incomplete()
    assert index.up().tolist() == loop.up()
    # The first table that holds the slots of a row's first columns has its slot.
    tables = [dict(zip(map(tuple, cells.tolist()), slots.tolist(), strict=True)) for cells, slots in index.tables()]
    for row in new:
        key = tuple(int(source.codes([value])[0]) for source, value in zip(index.sources, row, strict=True))
        held = (
            table[key[:length]]
            for table, length in zip(tables, range(len(key), 0, -1), strict=False)
            if key[:length] in table
        )
        assert next(held, loop.find((None,)) if row == (None,) else index.unseen) == loop.find(row)


@given(tables=ONE_AND_OTHER)
def test_a_union_is_the_index_of_all_rows_and_says_where_slots_went(tables):
    one, other = (read(rows)[0] for rows in tables)
    joint, mine, theirs = one.union(other)
    both = Loop([*tables[0], *tables[1]])
    assert list(joint.values) == both.categories
    for rows, moved in zip(tables, (mine, theirs), strict=True):
        assert moved.tolist() == [both.slots.index(slot) for slot in Loop(rows).slots]


@given(tables=SEEN_AND_NEW, data=st.data())
def test_what_is_kept_is_as_if_nothing_else_had_been_seen(tables, data):
    rows, new = tables
    index, loop = read(rows)[0], Loop(rows)
    if not loop.categories:
        return
    kept = data.draw(st.lists(st.sampled_from(loop.categories), min_size=1, unique=True).map(in_order))
    found = index.keep(np.array([loop.slots.index(row) for row in kept]))
    afresh, _ = read(kept)
    assert [source.values for source in found.sources] == [source.values for source in afresh.sources]
    assert found.values == afresh.values
    assert find(found, new).tolist() == find(afresh, new).tolist()


@given(rows=rows_of(3))
def test_nodes_do_not_move_the_slots_that_were_seen(rows):
    index, _ = read(rows)
    assert index.nested().moved(index).tolist() == list(range(len(index.values) + 2))


# ------------------------------------------------------------------------- below a table of parents

PARENTS = {"ann": ("north", "land"), "bob": ("south", "land"), "eve": ("north", "land"), "zoe": ("isle", "sea")}


@given(rows=rows_of(1), new=rows_of(1, strangers=True), known=st.sets(st.sampled_from(sorted(PARENTS)), min_size=1))
def test_below_a_table_of_parents_children_without_rows_are_categories_too(rows, new, known):
    parents = {child: above for child, above in PARENTS.items() if child in known}
    seen, slots = read(rows)
    index = seen.below(parents)
    children = sorted({value for (value,) in rows if value is not None} | known)
    nodes = {label(reversed(path)) for above in parents.values() for path in (above, above[1:])}
    names = index.labels()
    assert names[: len(children) + 2] == [*children, None, None]
    assert set(names[len(children) + 2 :]) == nodes
    assert len(names) == len(children) + 2 + len(nodes) == index.n_slots
    # Up from a child to its parent, from there to its own, and from the topmost and from strangers to unseen.
    for slot, above in enumerate(index.up().tolist()):
        path = parents.get(names[slot], ())
        if names[slot] in nodes:
            path = tuple(reversed(names[slot].split("&")[:-1]))
        assert names[above] == (label(reversed(path)) if path else None)
        assert (above == index.unseen) == (not path)
    assert [names[place] for place in index.moved(seen)[slots]] == [value for (value,) in rows]
    expected = [
        index.missing if value is None else children.index(value) if value in children else index.unseen
        for (value,) in new
    ]
    assert find(index, new).tolist() == expected
    assert index.incomplete().tolist() == [slot == index.missing for slot in range(index.n_slots)]
    [(cells, own)] = index.tables()
    assert (cells[:, 0].tolist(), own.tolist()) == ([*range(len(children))], [*range(len(children))])


def test_levels_lie_behind_one_another_the_parents_first():
    index, _ = read([("ann",), ("zoe",)])
    assert index.below(PARENTS).labels()[6:] == ["land&north", "land&south", "sea&isle", "land", "sea"]
    nested = read([("b", 2, True), ("a", 1, True), ("b", 1, None)])[0].nested()
    assert nested.starts() == [5, 8, 10]
    assert nested.labels()[5:] == ["a&1", "b&1", "b&2", "a", "b"]
