"""Running the probe for an editor: commands, jobs with cancel, results in words."""
