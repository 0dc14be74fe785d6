"""What is probed: found in a file, loaded, called, and put back into its first state."""
