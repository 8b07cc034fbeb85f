"""The benchmark: what an answer costs, in one run beside a constant server and the peers. ``python -m bench``."""
