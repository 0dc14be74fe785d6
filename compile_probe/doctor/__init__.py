"""Everything that decides whether a probe can work on this host, in one report: for its user, and to send to us."""
