#!/bin/sh
# Measure the encoder model on this machine's GPU, in under 8 minutes: bench/gpu_encoder.sh [FILE]
# Prints the table, and writes it to FILE too if one is given. PYTHON names the interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
export PYTHONPATH="$here/..:$here"
"$python" -c 'import torch, sys; sys.exit(0 if torch.cuda.is_available() else "no GPU here")'
"$python" "$here/gpu_encoder.py" --minutes 6 | tee "${1:-/dev/null}"
