"""Linear algebra, contractions and transforms: what the generated tests cannot say."""
