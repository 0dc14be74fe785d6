"""Whether the compiled target computes what eager computes."""
