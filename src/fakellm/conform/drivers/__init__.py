"""Drivers: how the suite reaches what it judges. Each takes errands and gives endings; none of them judges."""
