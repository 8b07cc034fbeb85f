#!/usr/bin/env bash
# A client of any language, checked from a shell: start the fake, run the client, ask for the verdict.
#   check.sh SCENARIO COMMAND [ARGUMENTS]      the command finds the server at $OPENAI_BASE_URL
set -euo pipefail

fakellm=${FAKELLM:-fakellm}
scenario=$1
shift

ready=$(mktemp)
$fakellm serve -q --scenario "$scenario" >"$ready" &
server=$!
trap 'kill "$server" 2>/dev/null; rm -f "$ready"' EXIT

until [[ -s $ready ]]; do # the first line on stdout says where it listens
    kill -0 "$server" 2>/dev/null || { echo "fakellm did not start" >&2; exit 1; }
    sleep 0.05
done
url=$(sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' "$ready")

OPENAI_BASE_URL=$url/v1 OPENAI_API_KEY=none "$@"
$fakellm verify --url "$url/_fakellm" # 1: a request found no reply, or a reply with `times` was not asked for; 5: nobody called
