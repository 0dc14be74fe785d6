"""What a worker does with its job, stage by stage; here the rooms come together."""
