"""The loop program: a language of loops over buffers, its printer, parser and verifier."""
