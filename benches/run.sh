#!/usr/bin/env bash
# Time lithify against ONNX Runtime and OpenVINO, alternating in one run.
#
# Usage: benches/run.sh [--quick] [--readme] [MODEL ...]
#
#   --quick    a second or so for each program, one thread
#   --readme   write the result into README.md
#
# Without models, all that can be made are taken; benches/models.py --list names them. See benches/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=(--rounds 5 --seconds 1 --threads 1,2)
readme=
models=()
for argument in "$@"; do
    case "$argument" in
    --quick) rounds=(--rounds 2 --seconds 0.2 --threads 1) ;;
    --readme) readme=yes ;;
    -*) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "$0" && exit 2 ;;
    *) models+=("$argument") ;;
    esac
done

target=${CARGO_TARGET_DIR:-target}
out=$target/benches
environment=$out/python
mkdir -p "$out"
if ! cmp -s benches/requirements.txt "$environment/installed-requirements.txt"; then
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" --disable-pip-version-check install --quiet --requirement benches/requirements.txt
    cp benches/requirements.txt "$environment/installed-requirements.txt"
fi
python=$environment/bin/python

cargo build --quiet --release --bin lithify
cargo build --quiet --release --manifest-path benches/workers/Cargo.toml --target-dir "$out/workers"
ORT_DYLIB_PATH=$(ls "$environment"/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*)
export ORT_DYLIB_PATH

if [ ${#models[@]} -eq 0 ]; then
    models=(mlp resnet50 mobilenetv2 squeezenet densenet121 bert_base)
    for pair in nudenet320:nudenet_320n ppocr_rec:ppocr_v4_rec minilm_l3:paraphrase_minilm_l3 silero:silero_vad_v6; do
        [ -f "$target/zoo/${pair#*:}.onnx" ] && models+=("${pair%%:*}")
    done
fi
missing=()
for model in "${models[@]}"; do
    [ -f "$out/models/$model.onnx" ] || missing+=("$model")
done
[ ${#missing[@]} -eq 0 ] || "$python" benches/models.py "$out/models" --zoo "$target/zoo" "${missing[@]}"

"$python" benches/compile.py "$target/release/lithify" "$out/models" "$out/libraries" "${models[@]}"
"$python" benches/compare.py "$out/models" --only "$(IFS=,; echo "${models[*]}")" "${rounds[@]}" \
    --reference onnxruntime --subject lithify --json "$out/compare.json" \
    "lithify=$target/release/lithify bench $out/libraries/{name}.so --worker --threads {threads} --inputs {inputs} --dump {dump}" \
    "onnxruntime=$out/workers/release/onnxruntime-worker {model} --io-binding --threads {threads} --inputs {inputs} --dump {dump}" \
    "openvino=$python benches/workers/openvino_worker.py {model} --threads {threads} --inputs {inputs} --dump {dump}"

echo
if [ -n "$readme" ]; then
    "$python" benches/summary.py "$out/compare.json" "$out/libraries/compile.json" --readme README.md
    echo "wrote README.md"
else
    "$python" benches/summary.py "$out/compare.json" "$out/libraries/compile.json"
fi
