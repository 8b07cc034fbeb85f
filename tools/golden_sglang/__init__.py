"""Captures of a real SGLang, made anew: its HTTP server runs, requests are sent, answers kept with their truth.

    environment -> running -> probes -> capture -> folder -> fakellm fidelity

``make golden-sglang VERSION=0.5.23`` runs it. ``engine/`` is what runs inside SGLang's own environment; the capturing
itself is that of ``golden_vllm``.
"""
