"""Servers that speak OpenAI's chat and completions with small differences: one renderer, vendors are table entries.

``traits.py`` names the differences, ``vendors.py`` is the table, the rest renders any of them. Native APIs of these
vendors are small modules in ``native``.
"""
