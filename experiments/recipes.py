"""What to read for each public data set, what to drop of it, and how much of it there must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from catbayes.datasets import Task

__all__ = ["RECIPES", "Recipe"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a data set of a published table; lists of names are separated by blanks."""

    files: dict[str, tuple[str, int]]  # part: its file and number of rows
    openml: int
    columns: str  # in the order of the table, which is that of a file without header, the target coming last
    target: str
    task: Task
    source: str
    categorical: str = ""  # all columns, where none is named
    positive: str = ""  # the label of class 1
    dropped: str = ""  # what the file or OpenML may hold besides
    header: bool = True
    openml_order: tuple[str, ...] = ("train",)  # OpenML joins the parts
    openml_names: dict[str, str] = field(default_factory=dict)  # OpenML's name of a column: the file's
    adapt: Callable[[Any], Any] = lambda frame: frame  # gives OpenML's table the content of the file


def _adapt_bikes(frame: Any) -> Any:
    """Give back the codes and scales of the original table, for which OpenML has words, degrees and km/h."""
    truths = {"False": 0, "True": 1}
    codes = {
        "season": {"spring": 1, "summer": 2, "fall": 3, "winter": 4},
        "weather": {"clear": 1, "misty": 2, "rain": 3, "heavy_rain": 4},
    } | {"holiday": truths, "workingday": truths}
    maxima = {"temp": 41, "feel_temp": 50, "windspeed": 67}
    coded = {name: frame[name].astype(str).map(code) for name, code in codes.items()}
    return frame.assign(**coded, **{name: (frame[name] / most).round(4) for name, most in maxima.items()})


def _adapt_salaries(frame: Any) -> Any:
    """Take the title of the job that is done where it is not the one that is held, and the year of the date."""
    import pandas

    title = frame["underfilled_job_title"].astype(object).fillna(frame["employee_position_title"].astype(object))
    year = pandas.to_datetime(frame["date_first_hired"].astype(str)).dt.year
    return frame.assign(employee_position_title=title, year_first_hired=year)


ADULT = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex capital_gain "
    "capital_loss hours_per_week native_country"
)
BIKES = "season yr mnth hr holiday weekday workingday weathersit"
SALARIES = "gender department division assignment_category employee_position_title"
MERCEDES_GAPS = (7, 9, 25, 72, 121, 149, 188, 193, 303, 381)

RECIPES = {
    "adult": Recipe(
        files={"train": ("adult/adult.data", 32_561), "test": ("adult/adult.test", 16_281)},
        openml=1590,
        openml_order=("test", "train"),
        openml_names={"class": "income"} | {name.replace("_", "-"): name for name in ADULT.split() if "_" in name},
        columns=ADULT,
        categorical="workclass education marital_status occupation relationship race sex native_country",
        target="income",
        task="binary",
        positive=">50K",
        header=False,
        source="UCI Adult, CC BY 4.0",
    ),
    "amazon": Recipe(
        files={"train": ("amazon_employee_access/train.csv", 32_769)},
        openml=4135,
        openml_names={"target": "ACTION"},
        columns="RESOURCE MGR_ID ROLE_ROLLUP_1 ROLE_ROLLUP_2 ROLE_DEPTNAME ROLE_TITLE ROLE_FAMILY_DESC ROLE_FAMILY "
        "ROLE_CODE",
        target="ACTION",
        task="binary",
        positive="1",
        source="Kaggle, Amazon.com Employee Access Challenge; not to be redistributed",
    ),
    "bike_sharing": Recipe(
        files={"train": ("bike_sharing/hour.csv", 17_379)},
        openml=42712,
        openml_names={"year": "yr", "month": "mnth", "hour": "hr", "weather": "weathersit"}
        | {"feel_temp": "atemp", "humidity": "hum", "count": "cnt"},
        adapt=_adapt_bikes,
        columns=f"{BIKES} temp atemp hum windspeed",
        categorical=BIKES,
        dropped="instant dteday casual registered",  # the target is casual + registered
        target="cnt",
        task="count",
        source="UCI Bike Sharing, CC BY 4.0",
    ),
    "car": Recipe(
        files={"train": ("car/car.data", 1_728)},
        openml=40975,
        columns="buying maint doors persons lug_boot safety",
        target="class",
        task="multiclass",
        header=False,
        source="UCI Car Evaluation, CC BY 4.0",
    ),
    "employee_salaries": Recipe(
        files={"train": ("employee_salaries/employee_salaries.csv", 9_228)},
        openml=42125,
        adapt=_adapt_salaries,
        columns=f"{SALARIES} year_first_hired",
        categorical=SALARIES,
        # Who it is; what was paid, next to the target; and what the columns that are kept say already.
        dropped="full_name 2016_gross_pay_received 2016_overtime_pay department_name date_first_hired "
        "underfilled_job_title",
        target="current_annual_salary",
        task="regression",
        source="Montgomery County (MD) open data",
    ),
    "insurance": Recipe(
        files={"train": ("insurance/insurance.csv", 1_338)},
        openml=46931,
        columns="age sex bmi children smoker region",
        categorical="sex smoker region",
        target="charges",
        task="regression",
        source="B. Lantz, Machine Learning with R",
    ),
    "mercedes": Recipe(
        files={"train": ("mercedes/train.csv", 4_209)},  # the test file has no target
        openml=42570,
        columns=" ".join(f"X{number}" for number in range(386) if number not in MERCEDES_GAPS),
        categorical="X0 X1 X2 X3 X4 X5 X6 X8",
        dropped="ID",
        target="y",
        task="regression",
        source="Kaggle, Mercedes-Benz Greener Manufacturing; not to be redistributed",
    ),
    "nursery": Recipe(
        files={"train": ("nursery/nursery.data", 12_960)},
        openml=26,
        columns="parents has_nurs form children housing finance social health",
        target="class",
        task="multiclass",
        header=False,
        source="UCI Nursery, CC BY 4.0",
    ),
}
