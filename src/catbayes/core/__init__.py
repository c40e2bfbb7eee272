"""The main path: from a table and a target to posteriors of categories, and to draws from them."""
