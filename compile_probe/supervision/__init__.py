"""The half that runs no user code: starts workers, watches them, ends them, tells how it went. Imports no torch."""
