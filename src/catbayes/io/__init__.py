"""Tables in files, databases and clusters: gathering evidence from them and encoding them; saved encoders."""

from catbayes.core.table import times_as_numbers
from catbayes.io.sources import is_source, read_arrow

__all__ = ["is_source", "read_arrow", "times_as_numbers"]
