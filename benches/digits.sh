#!/usr/bin/env bash
# Times the training of examples/digits beside the same training in numpy, in turns on one core, and prints the ratio.
# Needs python3 with venv, and pip's access to numpy.
#
# usage: benches/digits.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

python3 -m venv "$directory/venv"
"$directory/venv/bin/pip" install --quiet --disable-pip-version-check numpy
example=$(cargo build --quiet --release --example digits --message-format=json-render-diagnostics |
    sed -n 's/.*"name":"digits".*"executable":"\([^"]*\)".*/\1/p')

# One thread each: numpy's products would start others for arrays that are too small for them.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
pin=()
if command -v taskset >/dev/null; then pin=(taskset -c 0); fi
seconds() { sed -n 's/.*training \([0-9.]*\) s.*/\1/p' "$directory/errors"; }

for ((round = 1; round <= rounds; round++)); do
    "${pin[@]}" "$directory/venv/bin/python" benches/digits_numpy.py examples/data/digits.csv.gz \
        2>"$directory/errors" >"$directory/numpy-accuracy"
    seconds >>"$directory/numpy"
    "${pin[@]}" "$example" --curve "$directory/curve.svg" 2>"$directory/errors" | tail -n 1 >"$directory/deltaray-accuracy"
    seconds >>"$directory/deltaray"
done

report() { printf '%-9s fastest of %d: %.3f s, %s\n' "$1" "$rounds" "$(sort -g "$directory/$1" | head -n 1)" \
    "$(cat "$directory/$1-accuracy")"; }
report numpy
report deltaray
paste <(sort -g "$directory/numpy") <(sort -g "$directory/deltaray") |
    awk 'NR == 1 { printf "ratio deltaray / numpy: %.2f\n", $2 / $1 }'
