"""Put a software bill of materials into the wheel (PEP 770): CycloneDX, what pyproject.toml says the package needs."""

import json
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BillOfMaterials(BuildHookInterface):
    """The wheel has no code but our own; the components are the libraries that pip installs with it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file; it has neither a date nor a serial number, so that two builds give the same wheel."""
        metadata = self.metadata.core
        own = f"pkg:pypi/{metadata.name}@{self.metadata.version}"
        needed = {re.split(r"[^\w.-]", each)[0]: each for each in sorted(metadata.dependencies)}
        components = [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}",
                "name": name,
                "purl": f"pkg:pypi/{name}",
                "properties": [{"name": "catbayes:requirement", "value": requirement}],
            }
            for name, requirement in needed.items()
        ]
        about = {
            "type": "library",
            "bom-ref": own,
            "name": metadata.name,
            "version": self.metadata.version,
            "purl": own,
            "licenses": [{"license": {"id": metadata.license_expression}}],
        }
        bill = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": about},
            "components": components,
            "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in components]}],
        }
        path = Path(self.directory, f"{metadata.name}.cdx.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that the wheel has now."""
        Path(self.directory, f"{self.metadata.core.name}.cdx.json").unlink()
