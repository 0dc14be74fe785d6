"""What is kept between runs, outside every project: recorded inputs and results, one SQLite file a workspace."""
