"""A comparison as one HTML file that works offline: what won, and what is believed of each category."""

from catbayes.report._page import render, write
from catbayes.report._summary import summarise

__all__ = ["render", "summarise", "write"]
