"""Effects of categories given everything else: a mixed model."""
