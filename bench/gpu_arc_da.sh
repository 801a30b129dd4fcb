#!/bin/sh
# Measure text-to-text training (random weights of T5's published sizes) on this machine's GPUs, in under 8 minutes: bench/gpu_arc_da.sh [FILE]
# Prints what was measured, and writes it to FILE too if one is given; the exit status is 1 if a
# part failed. PYTHON names the interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH="$here/..:$here" exec "${PYTHON:-python3}" "$here/gpu_arc_da.py" --minutes 6.5 ${1:+--output "$1"}
