"""Require what sdist and wheel have to hold, and that they hold nothing else: `python .ci/contents.py dist`."""

import sys
import tarfile
import zipfile
from pathlib import Path

folder, root = Path(sys.argv[1]), Path(__file__).parent.parent
source = {str(path.relative_to(root / "src")) for path in (root / "src").rglob("*") if path.is_file()}
source = {name for name in source if "__pycache__" not in name}
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")

inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
if inside != source:
    sys.exit(f"{wheel.name} lacks {sorted(source - inside)} and has {sorted(inside - source)} that src has not.")

with tarfile.open(sdist) as archive:
    names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
wanted = {f"src/{name}" for name in source} | {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO"}
strangers = {name for name in names if name.startswith((".git/", ".venv", "results/", "build/"))}
if wanted - names or strangers or not any(name.startswith("tests/test_") for name in names):
    sys.exit(f"{sdist.name} lacks {sorted(wanted - names)}, and should not have {sorted(strangers)}.")
print(f"{wheel.name}: {len(inside)} files, {sdist.name}: {len(names)} files, all that there should be")
