"""Layouts: how each vendor and version puts an answer on the wire. ``registry`` finds them by name."""
