"""Lookups as one SQL query: a join for each level, and constants for what no table holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

from catbayes.core.validation import check_option, named_twice
from catbayes.errors import InputError
from catbayes.export.tables import Keys, Kind, Level, Lookup, input_kinds, lookup_tables

try:
    import sqlglot
    from sqlglot import exp
except ImportError as error:
    raise ImportError('SQL is written by sqlglot: pip install "catbayes[sql]".') from error

__all__ = ["write_sql"]

DIALECTS = [known.value for known in sqlglot.Dialects if known.value not in ("", "dax", "prql")]  # the last are no SQL
ROWS = "catbayes_rows"
# Where NaN is a value of its own: databases with a function that tells it, and those in which it equals itself.
TOLD_BY_FUNCTION = ("athena", "bigquery", "clickhouse", "databricks", "presto", "spark", "spark2", "trino")
EQUAL_TO_ITSELF = ("materialize", "postgres", "redshift", "risingwave", "snowflake")
MIND_CAPITALS = ("clickhouse", "materialize", "oracle", "postgres", "risingwave", "snowflake")  # in quoted names
# A column may hold "Oslo" and "oslo" for the same, and then a row would join both: how the same letters are asked for.
SAME_LETTERS = {
    "sqlite": "{} COLLATE BINARY",
    "duckdb": "{} COLLATE C",
    "postgres": 'CAST({} AS TEXT) COLLATE "C"',
    "mysql": "CAST(CAST({} AS CHAR CHARACTER SET utf8mb4) AS BINARY)",  # no collation of text minds blanks at its end
    "tsql": "CAST(CAST({} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
    "fabric": "CAST(CAST({} AS VARCHAR(MAX)) AS VARBINARY(MAX))",
}


def write_sql(
    lookups: Sequence[Lookup], dialect: str, table: str, lookup: str | None = None, beside: Sequence[str] = ()
) -> str:
    """Write the query that adds the outputs of the lookups to every row of a table.

    The keys stand in the query, or, if `lookup` says what they begin with, in tables as `lookup_tables` names them.
    `beside` are further columns of the table.
    """
    check_option("dialect", dialect, DIALECTS)
    kinds = input_kinds(lookups)
    if dialect not in MIND_CAPITALS:
        _check_names([*kinds, *(name for one in lookups for name in one.outputs)], beside)
    home = None if lookup is None else _read_table(lookup, dialect)
    found = lookup_tables(lookups, "catbayes" if home is None else home.name)
    names = {(id(keys.level), keys.present): name for name, (_, keys) in found.items()}
    writer = _Writer(dialect, kinds, names, home)
    rows = exp.alias_(_read_table(table, dialect), ROWS, table=True)
    query = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(ROWS))).from_(rows)
    for one in lookups:
        query.select(*writer.columns(one), copy=False)
    for name, condition in writer.joins.items():
        query.join(writer.joined(name), on=condition, join_type="left", copy=False)
    for name, values in writer.tables.items():
        query.with_(name, as_=values, copy=False)
    return str(query.sql(dialect=dialect, pretty=True, copy=False))


def _check_names(asked: Sequence[str], beside: Sequence[str]) -> None:
    """Refuse names that are asked for where a database could take another column for it."""
    known = {name.lower() for name in asked}
    twice = named_twice(dict.fromkeys([*asked, *(name for name in beside if name.lower() in known)]))
    if twice is not None:
        raise InputError(
            f"The query would have {twice!r} twice, capitals aside, which most databases do not tell apart. Rename one "
            "of these columns or classes, and fit again."
        )


def _read_table(table: str, dialect: str) -> Any:
    try:
        return exp.to_table(table, dialect=dialect)
    except (sqlglot.ParseError, AttributeError) as error:
        raise InputError(f"table={table!r}: expected the name of a table, such as visits or sales.visits.") from error


@dataclass
class _Writer:
    """The parts of a query, as they come up."""

    dialect: str
    kinds: dict[str, Kind]
    names: dict[Any, str]  # what the tables of keys are called
    home: Any = None  # the table that names begin with, where keys are in tables of the database
    tables: dict[str, Any] = field(default_factory=dict)  # the levels, for WITH
    joins: dict[str, Any] = field(default_factory=dict)  # the conditions on which rows join them

    def columns(self, lookup: Lookup) -> list[Any]:
        """The outputs of a lookup, as columns to select."""
        answers = [exp.null() if isnan(value) else _number(lookup.name, value) for value in lookup.otherwise]
        for level in reversed(lookup.levels):
            answers = self._ask(level, lookup.name, lookup.outputs, answers)
        if lookup.required:
            refused = exp.or_(*map(self._missing, lookup.required))
            answers = [exp.case().when(refused.copy(), exp.null()).else_(answer) for answer in answers]
        named = zip(answers, lookup.outputs, strict=True)
        return [exp.alias_(exp.cast(answer, "double"), _quoted(name)) for answer, name in named]

    def joined(self, name: str) -> Any:
        """What to join: the keys in the query, or in a table of the schema that holds them."""
        if self.home is None:
            return exp.to_table(name)
        table = self.home.copy()
        table.set("this", exp.to_identifier(name, quoted=table.this.quoted))
        return exp.alias_(table, _alias(name), table=True)

    def _ask(self, level: Level, name: str, outputs: Sequence[str], otherwise: list[Any]) -> list[Any]:
        """What a level answers, and `otherwise` where it does not hold the key."""
        joined, nothing = [self._join(keys, name, outputs) for keys in level.joined()], level.nothing()
        answers = []
        for output, other in enumerate(otherwise):
            found = [*(exp.column(columns[output], table) for table, columns in joined), other]
            answer = exp.func("COALESCE", *found) if joined else other
            if nothing is not None:
                missing = exp.and_(*map(self._missing, level.columns))
                answer = exp.case().when(missing, _number(name, level.outputs[nothing, output])).else_(answer)
            answers.append(answer)
        return answers

    def _join(self, keys: Keys, name: str, outputs: Sequence[str]) -> tuple[str, list[Any]]:
        """Join rows to keys; returns what their table is called in the query, and its columns of outputs."""
        level = keys.level
        table = self.names[id(level), keys.present]
        if self.home is None:
            alias, names = table, [f"key_{position}" for position in range(len(keys.columns))]
            names += [f"output_{position}" for position in range(len(outputs))]
            self.tables[table] = self._values(self._rows(keys, name), names)
            columns = [exp.to_identifier(name) for name in names]
        else:
            alias, columns = _alias(table), [_quoted(name) for name in (*keys.columns, *outputs)]
        lacking = [column for column, there in zip(level.columns, keys.present, strict=True) if not there]
        conditions = [self._missing(column) for column in lacking]
        conditions += [
            self._same(name, exp.column(key, alias)) for name, key in zip(keys.columns, columns, strict=False)
        ]
        self.joins[table] = exp.and_(*conditions)
        return alias, columns[len(keys.columns) :]

    def _rows(self, keys: Keys, name: str) -> list[Any]:
        """Keys and outputs as literals."""
        places = [position for position, there in enumerate(keys.present) if there]
        kinds = [self.kinds[column] for column in keys.columns]
        rows = []
        for number in keys.numbers:
            values = [keys.level.keys[number][place] for place in places]
            literals = [self._literal(name, kind, value) for kind, value in zip(kinds, values, strict=True)]
            outputs = (_number(name, value) for value in keys.level.outputs[number])
            rows.append(exp.Tuple(expressions=[*literals, *outputs]))
        return rows

    def _values(self, rows: list[Any], names: list[str]) -> Any:
        """Rows as something to select from, in the way that the database can name its columns."""
        if self.dialect == "sqlite":
            first = [exp.column(f"column{number}").as_(name) for number, name in enumerate(names, start=1)]
            return exp.Select(expressions=first).from_(exp.Values(expressions=rows), copy=False)
        alias = exp.TableAlias(this=exp.to_identifier("known"), columns=[exp.to_identifier(name) for name in names])
        return exp.Select(expressions=[exp.Star()]).from_(exp.Values(expressions=rows, alias=alias), copy=False)

    def _same(self, name: str, key: Any) -> Any:
        """Whether a row has the value of a key; text is the same if its letters are."""
        sides = [_column(name), key]
        if self.kinds[name] is Kind.TEXT and self.dialect in SAME_LETTERS:
            letters = SAME_LETTERS[self.dialect]
            written = [letters.format(side.sql(dialect=self.dialect)) for side in sides]
            sides = [sqlglot.parse_one(side, read=self.dialect) for side in written]
        return exp.EQ(this=sides[0], expression=sides[1])

    def _missing(self, name: str) -> Any:
        """Whether a row lacks a value: NULL, or NaN where that is another thing."""
        missing = exp.Is(this=_column(name), expression=exp.null())
        if self.kinds[name] is not Kind.NUMBER:
            return missing
        value = exp.cast(_column(name), "double")  # numbers of any type may be in the column
        if self.dialect == "duckdb":  # it tells NaN by the statistics of a Parquet file, which leave NaN out
            neither = [exp.not_(exp.func(name, value.copy())) for name in ("ISFINITE", "ISINF")]
            return exp.paren(exp.or_(missing, exp.and_(*neither)))
        if self.dialect in TOLD_BY_FUNCTION:
            return exp.paren(exp.or_(missing, exp.IsNan(this=value)))
        if self.dialect in EQUAL_TO_ITSELF:
            nan = exp.cast(exp.Literal.string("NaN"), "double")
            return exp.paren(exp.or_(missing, exp.EQ(this=value, expression=nan)))
        return missing

    def _literal(self, name: str, kind: Kind, value: Any) -> Any:
        """A value of a key, as a literal of its type."""
        match kind:
            case Kind.TEXT:
                national = self.dialect in ("tsql", "fabric")  # else letters outside of the code page become "?"
                return exp.National(this=value) if national else exp.Literal.string(value)
            case Kind.INTEGER:
                return exp.Literal.number(int(value))
            case Kind.NUMBER:
                return _number(name, value)
            case Kind.BOOLEAN:
                return exp.Boolean(this=bool(value))
        date = kind is Kind.DATE
        text = exp.Literal.string(str(value.date() if date else value))
        return text if self.dialect == "sqlite" else exp.cast(text, "date" if date else "timestamp")


def _number(name: str, value: Any) -> Any:
    """A number with all its digits; the exponent says that it is no decimal."""
    value = float(value)
    if not isfinite(value):
        raise InputError(
            f"{name!r} needs the number {value}, and there is no SQL for it. Leave such values out at fit."
        )
    text = repr(abs(value))
    literal = exp.Literal(this=text if "e" in text else f"{text}e0", is_string=False)
    return literal if value >= 0 else exp.Neg(this=literal)


def _alias(table: str) -> str:
    """What a table of the database is called in the query: by its number."""
    return f"catbayes_{table.rpartition('_')[2]}"


def _column(name: str) -> Any:
    return exp.Column(this=_quoted(name), table=exp.to_identifier(ROWS))


def _quoted(name: str) -> Any:
    return exp.to_identifier(name, quoted=True)
