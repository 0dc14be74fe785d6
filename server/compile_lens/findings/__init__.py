"""Findings: what rules report, with certainty, severity, suppression, and merged with what a probe saw."""
