"""Reports: writers that listen to a run. None of them judges, and none is needed for a verdict."""
