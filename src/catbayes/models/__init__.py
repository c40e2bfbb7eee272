"""Models that train on drawn copies of a table and average predictions over draws."""
