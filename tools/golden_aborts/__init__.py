"""Aborts of real servers: captured over a scripted engine, kept in ``tests/golden/aborts``, held against the fake."""
