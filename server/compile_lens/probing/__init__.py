"""Running the probe for an editor: commands, jobs with cancel and generations, results."""
