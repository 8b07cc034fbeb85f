#!/usr/bin/env bash
# The main job: the real openai SDK against the fake, judged token by token. Usage: conformance/demo.sh BIN_OF_A_VENV
# Ends with 0 because the adapter's baselines hold what this client is known to lose; anything else it loses is red.
set -euo pipefail

bin=$(cd "$1" && pwd)
adapter=$(cd "$(dirname "$0")/adapters/openai-python" && pwd)
worst=0

for mode in create helper; do
    echo "== openai-python, $mode"
    options=(--report-dir "report/openai-python-$mode")
    [ -f "$adapter/baseline-$mode.yaml" ] && options+=(--baseline "$adapter/baseline-$mode.yaml")
    code=0
    "$bin/fakellm" conform client "${options[@]}" -- "$bin/python" "$adapter/adapter.py" "$mode" || code=$?
    worst=$((code > worst ? code : worst))
done
exit "$worst"
