"""Golden captures of a real vLLM, made anew: its API server runs, requests are sent, answers kept with their truth.

    environment -> running -> wanted -> capture -> folder -> fakellm fidelity

``make golden-vllm VERSION=0.32.0`` runs it. ``engine/`` is what runs inside vLLM's own environment.
"""
