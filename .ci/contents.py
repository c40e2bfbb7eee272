"""Require what sdist and wheel have to hold, and that they hold nothing else: `python .ci/contents.py dist`."""

import json
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

folder, root = Path(sys.argv[1]), Path(__file__).parent.parent
source = {str(path.relative_to(root / "src")) for path in (root / "src").rglob("*") if path.is_file()}
source = {name for name in source if "__pycache__" not in name}
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")

archive = zipfile.ZipFile(wheel)
inside = {name for name in archive.namelist() if ".dist-info/" not in name}
if inside != source:
    sys.exit(f"{wheel.name} lacks {sorted(source - inside)} and has {sorted(inside - source)} that src has not.")

(bill,) = (json.loads(archive.read(name)) for name in archive.namelist() if ".dist-info/sboms/" in name)
listed = [entry["value"] for component in bill["components"] for entry in component["properties"]]
needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
if sorted(listed) != sorted(needed):
    sys.exit(f"{wheel.name}: the bill of materials lists {sorted(listed)}, and pyproject.toml {sorted(needed)}.")

with tarfile.open(sdist) as sources:
    names = {member.name.partition("/")[2] for member in sources.getmembers() if member.isfile()}
wanted = {f"src/{name}" for name in source} | {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO"}
strangers = {name for name in names if name.startswith((".git/", ".venv", "results/", "build/"))}
if wanted - names or strangers or not any(name.startswith("tests/test_") for name in names):
    sys.exit(f"{sdist.name} lacks {sorted(wanted - names)}, and should not have {sorted(strangers)}.")
print(f"{wheel.name}: {len(inside)} files, {sdist.name}: {len(names)} files, all that there should be")
