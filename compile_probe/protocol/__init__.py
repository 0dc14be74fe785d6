"""What supervisor and worker say to each other: the job, the stages and the events. Imports no torch."""
