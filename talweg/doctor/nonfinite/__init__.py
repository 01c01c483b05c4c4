"""NaN and infinity: where they were made."""
