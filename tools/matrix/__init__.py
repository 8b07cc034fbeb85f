"""The published matrix: real clients and gateways, installed from the registries, judged, and shown as a static site.

    recipe -> environment -> running -> result (scrubbed) -> site, findings, the table in the README

``make matrix`` runs it. It knows the suite only by its command line and its ``report.jsonl``.
"""
