#!/bin/sh
# Check text-to-text training on this machine's GPU, in under 8 minutes: bench/gpu_arc_da.sh [FILE]
# Prints what was measured, and writes it to FILE too if one is given. PYTHON names the interpreter.
# Without pretrained weights: random ones of T5's published sizes. --quick runs it small on a CPU.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH="$here/.."
if [ "${1:-}" = "--quick" ]; then
  exec "$python" "$here/gpu_arc_da.py" --quick
fi
"$python" -c 'import torch, sys; sys.exit(0 if torch.cuda.is_available() else "no GPU here")'
"$python" "$here/gpu_arc_da.py" --minutes 6.5 | tee "${1:-/dev/null}"
