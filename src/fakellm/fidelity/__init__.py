"""Fidelity: how the fake stays honest. Recorded exchanges of real servers are replayed and compared byte by byte.

``library`` reads recordings, ``play`` lets a layout answer the recorded request from the recorded truth, ``compare``
judges the answer, ``run`` does so for whole libraries. Only ``library`` touches files.
"""
