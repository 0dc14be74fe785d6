"""The language server: thin handlers over the engine, analysis in a process of its own."""
