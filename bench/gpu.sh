#!/usr/bin/env bash
# Install, test and measure opweave on a machine with a GPU, by stages, with no network:
#
#     bench/gpu.sh [--dry-run] STAGE FOLDER
#
#     first     the machine, the package, one kernel, every variant compiled, the roofs
#     correct   the tests that need a GPU, those that fill its memory last; the demo
#     table     the experiments that hold kernels against other libraries
#     counters  profilers: Nsight Compute and Nsight Systems, where they are there
#     rest      the other experiments; small ones on the host
#     all       each of them in turn
#
# A stage takes at most ten minutes and needs no other one: it installs what it uses, in a folder of
# its own; the machine's Python stays as it is. Expects CUDA 12 or 13 and a Python 3.11 or later with
# NumPy and CuPy; PyTorch, nsys and ncu are used where they are there. Only one thing of the GPU is
# ever changed: its load.
#
# Leaves in FOLDER (default $OUT) for each stage STAGE.json, STAGE.log, and STAGE.tar.gz with the
# benchmarks' files, to be unpacked in bench/results, and logs. They are written anew after every
# step, so that a stage that is killed has lost one step. A step that fails is recorded and does not
# stop the others. Exit status 0 if all steps passed.
#
#     PYTHON=python3    the interpreter
#     WHEELS=folder     wheels of what the interpreter lacks, such as ml_dtypes
#     BUDGET=570        seconds of a stage; each step has a limit of its own besides
#     COMMIT=hash       named in the files where the folder is no git clone
#
# --dry-run needs no GPU: the same steps with small benchmarks on the host, and in the place of the
# tests every variant's PTX in the interpreter; what else needs the GPU is skipped.
# shellcheck disable=SC2329  # functions run by name, in shells that a limit can end
set -uo pipefail

dry_run=0
if [ "${1:-}" = --dry-run ]; then
    dry_run=1
    shift
fi
stages=(first correct table counters rest)
stage=${1:-}
out=${2:-${OUT:-}}
if [[ ! " ${stages[*]} all " == *" $stage "* ]] || [ -z "$out" ]; then
    echo "usage: bench/gpu.sh [--dry-run] {$(IFS=\|; echo "${stages[*]}")|all} FOLDER" >&2
    exit 2
fi
if [ "$stage" = all ]; then
    status=0
    dry=()
    [ "$dry_run" = 0 ] || dry=(--dry-run)
    for stage in "${stages[@]}"; do
        bash "${BASH_SOURCE[0]}" "${dry[@]}" "$stage" "$out" || status=1
    done
    exit "$status"
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHON=${PYTHON:-python3}
WHEELS=${WHEELS:+$(cd "$WHEELS" && pwd)}
budget=${BUDGET:-570}
keep=10 # seconds for the summary and the archive
results=$work/results
mkdir -p "$results/logs" "$work/site"
exec > >(tee "$out/$stage.log") 2>&1

export PYTHONPATH=$work/site${PYTHONPATH:+:$PYTHONPATH}
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=$work/matplotlib
export OPWEAVE_CACHE_DIR=$work/cache # a first compilation of everything, and nothing left behind
cd "$root" || exit 1

record() { # NAME STATUS SECONDS
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$results/steps.tsv"
    echo "== $1: $2, $3 s"
    "$PYTHON" bench/tools/gpu_steps.py summary "$results" >"$results/logs/summary.log" 2>&1
    cp "$results/summary.json" "$out/$stage.json" 2>/dev/null
    tar -C "$results" --exclude=./demo -czf "$out/$stage.tar.gz" .
}

# Run a command within a limit of seconds and of what is left of the budget.
step() { # NAME LIMIT COMMAND...
    local name=$1 limit=$2 left=$((budget - keep - SECONDS)) start=$SECONDS status=0
    shift 2
    if [ "$left" -le 5 ]; then
        record "$name" "no time left" 0
        return 1
    fi
    [ "$limit" -le "$left" ] || limit=$left
    echo "== $name (at most $limit s)"
    timeout -k 5 "$limit" "$@" >"$results/logs/$name.log" 2>&1 || status=$?
    tail -n 15 "$results/logs/$name.log"
    case $status in
    0) record "$name" passed $((SECONDS - start)) ;;
    124 | 137) record "$name" "out of time" $((SECONDS - start)) ;;
    *) record "$name" "failed ($status)" $((SECONDS - start)) ;;
    esac
    return "$status"
}

gpu_step() { # as step, where there is a device
    if [ "$has_gpu" = 1 ]; then
        step "$@"
    elif [ "$dry_run" = 1 ]; then
        record "$1" skipped 0
    else
        record "$1" "no device" 0
    fi
}

install_wheels() { # those that are missing, from the folder that was carried
    local name files
    for name in $("$PYTHON" bench/tools/gpu_steps.py needs); do
        files=$(find "$WHEELS" -iname "$name-*.whl" | head -n 1)
        [ -n "$files" ] || continue
        "$PYTHON" -m pip install -q --no-index --no-deps --no-cache-dir --no-compile \
            --target "$work/site" "$files" || return 1
    done
    "$PYTHON" bench/tools/gpu_steps.py needs
}

install_package() { # from a copy, because a build writes beside its sources
    mkdir "$work/clone"
    tar -C "$root" --exclude=./.git --exclude=./build --exclude='*.egg-info' -cf - . |
        tar -C "$work/clone" -xf - || return 1
    if "$PYTHON" -m pip install --no-deps --no-build-isolation --no-index --no-cache-dir \
        --target "$work/site" "$work/clone"; then
        return 0
    fi
    echo "pip cannot install (setuptools before 77?): laying the folders out instead"
    "$PYTHON" bench/tools/gpu_steps.py layout "$work/clone" "$work/site"
}

describe_machine() {
    "$PYTHON" --version
    "$PYTHON" -m pip list 2>/dev/null |
        grep -iE '^(numpy|cupy|cuda|nvidia-cuda-nvrtc|torch|triton|jinja2|ml.dtypes|setuptools|pytest)'
    command -v nvcc && nvcc --version
    command -v nsys ncu nvidia-smi
    [ "$dry_run" = 1 ] || nvidia-smi
}

export -f install_wheels install_package describe_machine
export PYTHON WHEELS work root dry_run results

has_gpu=0
if "$PYTHON" -c 'import cupy; assert cupy.cuda.runtime.getDeviceCount()' 2>/dev/null; then
    has_gpu=1
fi

options=(--results "$results" --commit "${COMMIT:-}")
experiment() { # NAME LIMIT: its file is written when it is done
    gpu_step "$1" "$2" "$PYTHON" bench/run.py "$1" --device cuda --no-figures "${options[@]}"
}

prepared() { # what every stage needs
    step install 60 bash -c install_package
    if [ -n "$WHEELS" ]; then
        step wheels 60 bash -c install_wheels
    else
        step needs 60 "$PYTHON" bench/tools/gpu_steps.py needs
    fi
}

first() {
    step machine 30 bash -c describe_machine
    step compile 60 "$PYTHON" bench/tools/gpu_steps.py compile
    step doctor 30 "$PYTHON" -m opweave doctor
    step variants 240 "$PYTHON" bench/tools/gpu_steps.py variants
    experiment traffic 120
    experiment overhead 60
}

tests() { # NAME LIMIT FILES...: in parallel where that can be
    gpu_step "$1" "$2" "$PYTHON" -m pytest -m gpu -q "${@:3}" -o "cache_dir=$work/pytest" \
        --junitxml="$results/logs/$1.xml"
}

correct() {
    local workers=()
    if "$PYTHON" -c 'import xdist' 2>/dev/null; then
        workers=(-n 4)
    fi
    tests tests 300 "${workers[@]}" tests/gpu --ignore tests/gpu/test_gpu_faults.py
    [ "$has_gpu" = 1 ] || step interpret 400 "$PYTHON" bench/tools/gpu_steps.py interpret
    step demo 60 "$PYTHON" -m opweave demo --out "$results/demo"
    tests faults 150 tests/gpu/test_gpu_faults.py # by itself: it fills the memory, and ends contexts
}

table() {
    local name
    gpu_step warm 120 "$PYTHON" bench/tools/gpu_steps.py warm
    experiment model 150
    for name in fusion intensity memory transpose products pixels functions gallery; do
        experiment "$name" 120
    done
}

counters() {
    # first without a profiler: it fills the caches
    gpu_step launch 120 "$PYTHON" bench/tools/gpu_steps.py launch
    if [ "$has_gpu" = 1 ] && command -v ncu >/dev/null; then
        # clocks stay as they are
        step ncu 280 bash -c 'ncu --clock-control none --csv --page raw \
            --kernel-name "regex:_(map|row|reduce|scan|scan_parts|scan_columns)_" \
            --section SpeedOfLight --section LaunchStats --section Occupancy \
            --section MemoryWorkloadAnalysis --section MemoryWorkloadAnalysis_Tables \
            --section SchedulerStats --section WarpStateStats --section InstructionStats \
            "$PYTHON" bench/tools/gpu_steps.py launch >"$results/ncu.csv"'
    fi
    if [ "$has_gpu" = 1 ] && command -v nsys >/dev/null; then
        step nsys 120 nsys profile --trace=cuda --stats=true --output "$work/nsys" \
            "$PYTHON" bench/tools/gpu_steps.py launch
    fi
}

rest() {
    local name
    for name in copies shapes tiles transformer graphs loop calls allocator; do
        experiment "$name" 90
    done
    step benchmarks-host 150 "$PYTHON" bench/run.py --quick --device host "${options[@]}"
}

echo "stage $stage"
prepared
"$stage"

echo
status=0
"$PYTHON" bench/tools/gpu_steps.py summary "$results" || status=1
echo "results in $out, exit status $status"
exit "$status"
