"""The clients, gateways and adapters that the suite tests itself with: one that is right, and many that are not.

``reference`` does everything as the suite asks; every mutant is one small override of it, named after what it does
wrong. They speak the in-process adapter protocol, so anybody can run one: ``--adapter
fakellm.conform.mutants.clients:DropLastLogprob``.
"""
