"""The conformance suite: case -> driver -> observation -> checks -> baseline -> verdicts -> reports."""
