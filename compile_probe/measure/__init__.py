"""How much faster the compiled target is, with an interval."""
