"""Lookups as one SQL query: a join for each table of keys, and constants for all other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

from catbayes.core.validation import check_option
from catbayes.errors import InputError
from catbayes.export.lookups import Kind, Level, Lookup, input_kinds

try:
    import sqlglot
    from sqlglot import exp
except ImportError as error:
    raise ImportError('SQL is written by sqlglot: pip install "catbayes[sql]".') from error

DIALECTS = [known.value for known in sqlglot.Dialects if known.value not in ("", "dax", "prql")]  # the last are no SQL
ROWS = "catbayes_rows"
# Databases in which NaN is not NULL: with a function for it, and where it equals itself.
WITH_FUNCTION = ("athena", "bigquery", "clickhouse", "databricks", "presto", "spark", "spark2", "trino")
EQUAL_TO_ITSELF = ("materialize", "postgres", "redshift", "risingwave", "snowflake")
# The collation of a column may ignore capitals, and then a row would join "Oslo" and "oslo": how to compare exactly.
SAME_LETTERS = {
    "sqlite": "{} COLLATE BINARY",
    "duckdb": "{} COLLATE C",
    "postgres": 'CAST({} AS TEXT) COLLATE "C"',
    "mysql": "CAST(CAST({} AS CHAR CHARACTER SET utf8mb4) AS BINARY)",  # text collations ignore trailing blanks
    "tsql": "CAST(CAST({} AS NVARCHAR(MAX)) AS VARBINARY(MAX))",
    "fabric": "CAST(CAST({} AS VARCHAR(MAX)) AS VARBINARY(MAX))",
}


def write_sql(
    lookups: Sequence[Lookup], dialect: str, table: str, prefix: str | None = None, columns: Sequence[str] = ()
) -> str:
    """Write the query that adds the outputs of the lookups to every row of a table.

    The keys are part of the query, or, with a `prefix`, in tables as `lookup_frames` names them. `columns` are those of
    the table.
    """
    check_option("dialect", dialect, DIALECTS)
    kinds = input_kinds(lookups)
    _check_names([*kinds, *(name for one in lookups for name in one.outputs)], columns)
    home = None if prefix is None else _read_table(prefix, dialect)
    writer = _Writer(dialect, kinds, home)
    rows = exp.alias_(_read_table(table, dialect), ROWS, table=True)
    query = exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier(ROWS))).from_(rows)
    for one in lookups:
        query.select(*writer.columns(one), copy=False)
    for name, condition in writer.joins.items():
        query.join(writer.joined(name), on=condition, join_type="left", copy=False)
    for name, values in writer.tables.items():
        query.with_(name, as_=values, copy=False)
    return str(query.sql(dialect=dialect, pretty=True, copy=False))


def _check_names(used: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse names that are used and differ from others only in capitals, which most databases ignore."""
    names = list(dict.fromkeys([*used, *columns]))
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name and {name.lower()} & {each.lower() for each in used}:
            raise InputError(
                f"{other!r} and {name!r} differ only in capitals, which most databases ignore. Rename one of these "
                "columns or classes, and fit again."
            )


def _read_table(table: str, dialect: str) -> Any:
    try:
        return exp.to_table(table, dialect=dialect)
    except (sqlglot.ParseError, AttributeError) as error:
        raise InputError(f"table={table!r}: expected the name of a table, such as visits or sales.visits.") from error


@dataclass
class _Writer:
    """The parts of a query, as they are collected."""

    dialect: str
    kinds: dict[str, Kind]
    home: Any = None  # the table whose name is the prefix, if the keys are in tables of the database
    tables: dict[str, Any] = field(default_factory=dict)  # tables of keys by their names, for WITH
    joins: dict[str, Any] = field(default_factory=dict)  # the conditions on which rows join them

    def columns(self, lookup: Lookup) -> list[Any]:
        """The outputs of a lookup, as columns to select."""
        answers = [exp.null() if isnan(value) else _number(lookup.name, value) for value in lookup.otherwise]
        for level in reversed(lookup.levels):
            answers = self._select(level, lookup, answers)
        if lookup.required:
            refused = exp.or_(*map(self._missing, lookup.required))
            answers = [exp.case().when(refused.copy(), exp.null()).else_(answer) for answer in answers]
        named = zip(answers, lookup.outputs, strict=True)
        return [exp.alias_(exp.cast(answer, "double"), _quoted(name)) for answer, name in named]

    def joined(self, alias: str) -> Any:
        """What to join: the keys in the query, or in a table of the database."""
        if self.home is None:
            return exp.to_table(alias)
        table = self.home.copy()
        name = f"{self.home.name}_{alias.rpartition('_')[2]}"
        table.set("this", exp.to_identifier(name, quoted=table.this.quoted))
        return exp.alias_(table, alias, table=True)

    def _select(self, level: Level, lookup: Lookup, otherwise: list[Any]) -> list[Any]:
        """The outputs of a level, or `otherwise` for keys that are not in it."""
        joined, of_missing = [self._join(level, keys, lookup) for keys in level.complete()], level.of_missing
        answers = []
        for output, other in enumerate(otherwise):
            found = [*(exp.column(columns[output], table) for table, columns in joined), other]
            answer = exp.func("COALESCE", *found) if joined else other
            if of_missing is not None:
                missing = exp.and_(*map(self._missing, level.columns))
                answer = exp.case().when(missing, _number(lookup.name, of_missing[output])).else_(answer)
            answers.append(answer)
        return answers

    def _join(self, level: Level, keys: Level, lookup: Lookup) -> tuple[str, list[Any]]:
        """Join rows to some keys of a level; returns the alias of their table, and its columns of outputs."""
        alias = f"catbayes_{len(self.joins)}"
        if self.home is None:
            names = [f"key_{position}" for position in range(len(keys.columns))]
            names += [f"output_{position}" for position in range(len(lookup.outputs))]
            self.tables[alias] = self._values(self._rows(keys, lookup.name), names)
            columns = [exp.to_identifier(name) for name in names]
        else:
            columns = [_quoted(name) for name in (*keys.columns, *lookup.outputs)]
        conditions = [self._missing(column) for column in level.columns if column not in keys.columns]
        conditions += [
            self._same(name, exp.column(key, alias)) for name, key in zip(keys.columns, columns, strict=False)
        ]
        self.joins[alias] = exp.and_(*conditions)
        return alias, columns[len(keys.columns) :]

    def _rows(self, keys: Level, name: str) -> list[Any]:
        """Keys and outputs as literals."""
        rows = []
        for key, outputs in zip(keys.keys, keys.outputs, strict=True):
            literals = [self._literal(column, value) for column, value in zip(keys.columns, key, strict=True)]
            rows.append(exp.Tuple(expressions=[*literals, *(_number(name, value) for value in outputs)]))
        return rows

    def _values(self, rows: list[Any], names: list[str]) -> Any:
        """Rows as a query with named columns."""
        if self.dialect == "sqlite":
            first = [exp.column(f"column{number}").as_(name) for number, name in enumerate(names, start=1)]
            return exp.Select(expressions=first).from_(exp.Values(expressions=rows), copy=False)
        alias = exp.TableAlias(this=exp.to_identifier("known"), columns=[exp.to_identifier(name) for name in names])
        return exp.Select(expressions=[exp.Star()]).from_(exp.Values(expressions=rows, alias=alias), copy=False)

    def _same(self, name: str, key: Any) -> Any:
        """Whether a row has the value of a key; text is compared exactly."""
        sides = [_column(name), key]
        if self.kinds[name] is Kind.TEXT and self.dialect in SAME_LETTERS:
            letters = SAME_LETTERS[self.dialect]
            written = [letters.format(side.sql(dialect=self.dialect)) for side in sides]
            sides = [sqlglot.parse_one(side, read=self.dialect) for side in written]
        return exp.EQ(this=sides[0], expression=sides[1])

    def _missing(self, name: str) -> Any:
        """Whether the value of a row is missing: NULL, or NaN if that is different."""
        missing = exp.Is(this=_column(name), expression=exp.null())
        if self.kinds[name] is not Kind.NUMBER:
            return missing
        value = exp.cast(_column(name), "double")  # numbers of any type may be in the column
        if self.dialect == "duckdb":  # isnan() reads the statistics of a Parquet file, which ignore NaN
            neither = [exp.not_(exp.func(name, value.copy())) for name in ("ISFINITE", "ISINF")]
            return exp.paren(exp.or_(missing, exp.and_(*neither)))
        if self.dialect in WITH_FUNCTION:
            return exp.paren(exp.or_(missing, exp.IsNan(this=value)))
        if self.dialect in EQUAL_TO_ITSELF:
            nan = exp.cast(exp.Literal.string("NaN"), "double")
            return exp.paren(exp.or_(missing, exp.EQ(this=value, expression=nan)))
        return missing

    def _literal(self, name: str, value: Any) -> Any:
        """A value of a key, as a literal of the type of its column."""
        kind = self.kinds[name]
        match kind:
            case Kind.TEXT:
                if "\0" in value and self.dialect != "duckdb":
                    raise InputError(
                        f"Column {name!r} has the category {value!r}, and a query for {self.dialect} cannot hold a NUL "
                        "character. Join tables of categories, by lookup=…, or correct it, and fit again."
                    )
                national = self.dialect in ("tsql", "fabric")  # otherwise letters outside of the code page become "?"
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
    """A number with all its digits; the exponent makes it a float."""
    value = float(value)
    if not isfinite(value):
        raise InputError(
            f"{name!r} needs the number {value}, and there is no SQL for it. Remove such values, and fit again."
        )
    text = repr(abs(value))
    literal = exp.Literal(this=text if "e" in text else f"{text}e0", is_string=False)
    return literal if value >= 0 else exp.Neg(this=literal)


def _column(name: str) -> Any:
    return exp.Column(this=_quoted(name), table=exp.to_identifier(ROWS))


def _quoted(name: str) -> Any:
    return exp.to_identifier(name, quoted=True)
