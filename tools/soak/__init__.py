"""Minutes of hostile input against everything that reads: ``python -m soak`` (``make soak``)."""
