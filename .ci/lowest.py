"""Print the lowest versions that pyproject.toml allows, as constraints for pip: `python .ci/lowest.py > lowest.txt`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
for requirement in sorted({*project["dependencies"], *extras["polars"], *extras["smoke"]}):
    found = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement)
    if found:
        print(f"{found[1]}=={found[2]}")
