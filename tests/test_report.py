"""The report in a browser: it shows the numbers, its controls work, and names of categories stay text."""

import json
import re
import shutil

import numpy as np
import pandas
import pytest

import catbayes
from catbayes import SamplingBayesianEncoder, compare
from catbayes.report import render, summarise, write

NASTY = [
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror='window.hacked = 2'>",
    "\"quoted\" & 'single' {{ 7 * 7 }} <b>bold</b>",
    "שלום עולם",
    "x" * 10_000,
    "line\nbreak\u2028separator",
    "",
    "<!-- comment",
]


CITY = "1"  # colour is more informative, and comes first


def nasty_table(n_rows=600):
    random = np.random.default_rng(0)
    city = np.array([*NASTY, *(f"city {i}" for i in range(60))], dtype=object)[random.integers(0, 68, n_rows)]
    colour = random.choice(["red", "blue", None], n_rows)
    y = random.random(n_rows) < 0.2 + 0.5 * (colour == "red")
    return pandas.DataFrame({"city": city, "<i>colour</i>": colour, "size": random.random(n_rows)}), y


@pytest.fixture(scope="module")
def comparison():
    X, y = nasty_table()
    return compare(X, np.where(y, "<em>yes</em>", "no"), encoders=["target"], models=["linear"], repeats=1, cv=2)


@pytest.fixture(scope="module")
def summary(comparison):
    return summarise(comparison)


@pytest.fixture(scope="module")
def page(summary, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(summary), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    """Debian's chromium without a screen and without a network."""
    if not shutil.which("chromedriver"):
        pytest.skip("no chromedriver: apt-get install chromium chromium-driver")
    selenium = pytest.importorskip("selenium.webdriver")
    options = selenium.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, page):
    browser.get(page.as_uri())
    return browser


def texts(browser, selector):
    return browser.execute_script(
        f"return [...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)"
    )


def choose(browser, control, value):
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event(e.tagName === 'INPUT' ? 'input' : 'change'))",
        control,
        value,
    )


def width(browser, pixels):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": pixels, "height": 800, "deviceScaleFactor": 1, "mobile": pixels < 600},
    )


def test_names_of_categories_are_text_and_run_no_script(opened):
    for value in ("0", CITY):
        choose(opened, "column", value)
        while opened.execute_script("return !document.getElementById('more').hidden"):
            opened.execute_script("document.getElementById('more').click()")
        if value == CITY:
            shown = texts(opened, "#categories bdi")
    assert opened.execute_script("return window.hacked") is None
    for name in NASTY:
        long = f"{'x' * 30}…{'x' * 9}… (10,000 characters)"
        expected = "(empty)" if not name else name if len(name) < 200 else long
        assert expected in shown
    assert opened.execute_script("return document.querySelectorAll('img, script:not([id]), em, i i, b b').length") == 1
    assert "<i>colour</i>" in texts(opened, "#column option")
    assert opened.get_log("browser") == []


def test_nothing_is_fetched(opened, page):
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)\s*=|url\(|@import|fetch\(|https?://""", text.split('id="data"')[0])
    assert "default-src 'none'" in text


def test_an_injected_script_does_not_run(summary, browser, tmp_path):
    html = render(summary).replace("<main>", "<main><script>window.hacked = 3</script>")
    (tmp_path / "injected.html").write_text(html, encoding="utf-8")
    browser.get((tmp_path / "injected.html").as_uri())
    assert browser.execute_script("return window.hacked") is None
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


def test_the_explorer_shows_the_posteriors(opened, comparison):
    encoder = SamplingBayesianEncoder(["city"], random_state=0).fit(comparison.rows.X[["city"]], comparison.rows.y)
    frame = encoder.posteriors_["city"].query("kind != 'unseen'")
    choose(opened, "column", CITY)
    choose(opened, "order", "count")
    most = frame["count"].max()
    first = frame[frame["count"] == most].iloc[0]
    value = texts(opened, "#categories .value")[0]
    assert value == f"{first['raw_mean']:.3f} → {first['mean']:.3f}"
    for order, best in (("mean", frame["mean"].max()), ("low", frame["mean"].min())):
        choose(opened, "order", order)
        assert texts(opened, "#categories .value")[0].endswith(f"→ {best:.3f}")


@pytest.mark.parametrize("pixels", [360, 1200])
def test_the_page_fits_any_width(opened, pixels):
    width(opened, pixels)
    for column in ("0", "1"):
        choose(opened, "column", column)
        assert opened.execute_script("return document.documentElement.scrollWidth") <= pixels


def test_classes_can_be_chosen(browser, tmp_path):
    X, _ = nasty_table(300)
    y = np.random.default_rng(1).choice(["a", "b", "c"], 300)
    result = compare(X, y, encoders=["target"], models=["linear"], repeats=1, cv=2)
    browser.get(write(result, tmp_path / "classes.html").as_uri())
    values = {}
    for number, name in enumerate("abc"):
        choose(browser, "class", str(number))
        assert texts(browser, "#class option")[number] == name
        values[name] = texts(browser, "#categories .value")[0]
    assert len(set(values.values())) == 3
    assert not browser.execute_script("return document.getElementById('class-label').hidden")


@pytest.mark.parametrize("n_rows", [60, 3_000])
def test_small_and_large_tables_are_reported(n_rows, tmp_path):
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"code": random.integers(0, 2_500, n_rows).astype(str), "day": pandas.Timestamp("2024-01-01")})
    X["day"] += pandas.to_timedelta(np.arange(n_rows), unit="D")
    y = pandas.Series(random.normal(size=n_rows) * 1e6, name="amount")
    result = compare(X, y, encoders=["target"], models=["linear"], repeats=1, cv=2)
    summary = summarise(result)
    assert summary["columns"][0]["shown"] == min(X["code"].nunique(), 2_000)
    assert ("left_out" in summary["leakage"]) == (n_rows < 200)
    if n_rows < 200:
        assert "60 rows are too few to find a leak" in render(summary)
    json.dumps(summary, allow_nan=False)
    write(result, tmp_path / "r.html")
    with pytest.raises(catbayes.InputError, match="exists"):
        write(result, tmp_path / "r.html")


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"catbayes\[report\]"):
        render({})


def test_the_page_shows_what_changed_in_the_last_fifth_of_ordered_rows():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"shop": random.choice(["north", "south", "west"], 1500), "day": np.arange(1500)})
    chance = np.where(table["shop"] == "north", np.where(table["day"] < 1200, 0.1, 0.7), 0.4)
    y = (random.random(1500) < chance).astype(int)
    how = {"encoders": ["target"], "models": ["linear"], "cv": 2, "repeats": 1}
    found = summarise(compare(table, y, time="day", **how))
    assert [line["name"] for line in found["changes"]["named"]] == ["north"]
    assert found["changes"]["lines"][0] | {"compared": 3, "changed": 1} == found["changes"]["lines"][0]
    assert "<bdi>north</bdi>" in render(found)
    assert "in no order" in render(summarise(compare(table, y, **how)))


def test_a_name_chooses_markdown_or_json(comparison, tmp_path):
    text = write(comparison, tmp_path / "report.md").read_text(encoding="utf-8")
    assert comparison.sentence in text
    assert f"```python\n{comparison.code}\n```" in text
    cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert [len(row) for row in cells] == [comparison.table().shape[1]] * 3
    assert json.loads(write(comparison, tmp_path / "report.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(comparison.to_dict())
    )
