"""What a target is called with: the sources of example inputs, in their order."""
