#!/bin/sh
# Run every GPU bench on this machine within 8 minutes of one card, the most important first:
#   bench/gpu_all.sh OUT [--quick --device cpu]
# Each writes OUT/NAME.md row by row. The exit status is 1 if a bench failed, whatever the others
# did. PYTHON names the interpreter.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH="$here/..:$here"
out=$1
shift
mkdir -p "$out" || exit 2
status=0
while read -r name minutes; do
  echo "== $name ($minutes minutes)"
  "$python" "$here/$name.py" --minutes "$minutes" --output "$out/$name.md" "$@" </dev/null || status=1
done <<BENCHES
gpu_train 3
gpu_encoder 1.5
gpu_baseline 1.2
gpu_arc_da 0.8
BENCHES
exit $status
