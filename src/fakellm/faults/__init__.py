"""The fault catalogue: everything that has gone wrong on the wire between servers, gateways and clients, on request."""
