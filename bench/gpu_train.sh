#!/bin/sh
# Measure training itself, train.py from start to step, on this machine's GPUs, in under 8 minutes: bench/gpu_train.sh [FILE]
# Prints what was measured, and writes it to FILE too if one is given; the exit status is 1 if a
# part failed. PYTHON names the interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH="$here/..:$here" exec "${PYTHON:-python3}" "$here/gpu_train.py" --minutes 6.5 ${1:+--output "$1"}
