#!/usr/bin/env python3
"""The benchmark table of the README.

    summary.py COMPARE.json COMPILE.json [--readme README.md]

Prints the table, or puts it between the markers of a README.
"""

import json
import sys
from pathlib import Path

BEGIN, END = "<!-- benchmarks: begin -->\n", "<!-- benchmarks: end -->\n"
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO f32"}


def milliseconds(worker):
    if worker is None or "failure" in worker:
        return None
    return worker["median_us"] / 1e3


def shown(time):
    return "-" if time is None else f"{time:.2f}" if time >= 1 else f"{time:.4f}"


def rows(report):
    for result in report["results"]:
        workers = result["workers"]
        ours = milliseconds(workers.get("lithify"))
        peers = {name: milliseconds(workers.get(name)) for name in PEERS}
        known = [time for time in peers.values() if time is not None]
        ratio = f"{min(known) / ours:.2f}" if ours and known else "-"
        cells = [result["model"], str(result["threads"]), shown(ours), *(shown(peers[name]) for name in PEERS), ratio]
        yield f"| {' | '.join(cells)} |"


def text(report, compiled):
    machine = report["machine"]
    lines = [
        f"{report['date'][:10]}, {machine['cpu']}, {machine['cores']} cores. Milliseconds, medians of {report['rounds']} alternating"
        " rounds; *ratio* is the best peer's",
        "time over ours, above 1 where lithify is faster. OpenVINO is called from Python, which costs some microseconds.",
        "",
        f"| model | threads | lithify | {' | '.join(PEERS.values())} | ratio |",
        "|---|---|---|---|---|---|",
        *rows(report),
        "",
        "| model | compile, s | compiler's peak memory, MiB | library over weights, KiB |",
        "|---|---|---|---|",
    ]
    for name, entry in compiled.items():
        over = (entry["artifact_bytes"] - entry["weight_bytes"]) / 1024
        lines.append(f"| {name} | {entry['seconds']:.2f} | {entry['peak_mib']:.0f} | {over:.0f} |")
    lines += ["", f"A call of [examples/digits](examples/digits) takes {compiled['digits']['call_us']:.2f} µs.", ""]
    return "\n".join(lines)


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (2, 4) or (len(arguments) == 4 and arguments[2] != "--readme"):
        sys.exit(__doc__)
    report, compiled = (json.loads(Path(path).read_text()) for path in arguments[:2])
    table = text(report, compiled)
    if len(arguments) == 2:
        print(table)
        return
    readme = Path(arguments[3])
    before, rest = readme.read_text().split(BEGIN)
    readme.write_text(before + BEGIN + table + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
