"""The thin rim: sockets, clocks and signals around the pure core (``fakellm.fake``)."""
