"""What a person sees of the events."""
