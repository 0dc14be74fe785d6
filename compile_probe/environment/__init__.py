"""What lies around a target and decides whether and how it is compiled: variables, options, who switched it off."""
