"""Builders that several tests share. Imported as ``support``; holds no tests."""
