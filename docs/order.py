"""The order of the gallery."""

from __future__ import annotations

NAMES = (
    "how_many_categories",
    "real_table",
    "leakage",
    "shrinkage",
    "hierarchy",
    "uncertainty",
)


class Order:
    """Sort key of a script, for sphinx-gallery; one that is not named comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Place in the gallery."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        return NAMES.index(name) if name in NAMES else len(NAMES), name

    def __repr__(self) -> str:
        return f"Order{NAMES}"
