"""Documents as text: decoding, line tables, position encodings, tolerant parsing."""
