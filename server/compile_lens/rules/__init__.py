"""One rule a file: what it flags, why, its examples, its fix. `registry` collects them."""
