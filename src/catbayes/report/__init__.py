"""A comparison as one HTML file that works offline: the best encoders, and the posterior of each category."""

from catbayes.report.page import render, write
from catbayes.report.summary import summarise

__all__ = ["render", "summarise", "write"]
