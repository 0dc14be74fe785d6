"""Edits of source text: what they change, whether they may change behaviour, and where imports go."""
