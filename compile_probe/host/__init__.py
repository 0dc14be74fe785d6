"""What the operating system tells of this machine: its processes and its memory. Imports no torch."""
