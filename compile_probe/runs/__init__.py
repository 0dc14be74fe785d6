"""Runs of the user's own commands: started with torch's trace switched on, followed while they go, told at the end."""
