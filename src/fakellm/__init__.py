"""fakellm: a fake inference server that knows the token truth, and a suite that judges who kept it.

The public names are few: see ``fakellm.pytest_plugin`` for the fixtures and ``fakellm.cli`` for the commands.
"""

__version__ = "0.1.0"
__distribution__ = "fakellm-conformance"
