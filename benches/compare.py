#!/usr/bin/env python3
"""Compare programs that run the same ONNX models, alternating in one run.

    compare.py MODELS_DIR NAME=COMMAND [NAME=COMMAND ...] [options]

Every COMMAND is a worker that speaks the protocol described in README.md. All workers of a model are started first; then,
round by round, each in turn runs for --seconds (the order rotates). Reported is the median over the rounds of each
round's median. A table goes to stdout, everything measured goes to --json.

Placeholders in COMMAND: {model} the .onnx file, {name} the model's name, {dir} its folder, {inputs} its inputs folder,
{threads}, and {dump} where the first output goes. A COMMAND that uses neither {model} nor {name} gets
"{model} --threads {threads} --inputs {inputs} --dump {dump}" appended.

Exit status: 0 when every worker that must run did, 1 when the reference or a --subject failed, 2 when the command line is
wrong.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

import numpy as np

from worker_process import Worker, WorkerFailed, command_line

SETTLE_S = 0.03  # lets the idle threads of the worker before stop spinning
MAX_RUNS_A_ROUND = 20000
# f32 programs agree to 1e-5 of the largest value, bf16 ones to 1e-3: a peer above this does not compute in f32.
F32_ERROR_LIMIT = 2e-4
MIN_DISTINCT = 50


def relative_error(output, reference):
    """Largest difference over the largest reference value; None where that means nothing."""
    if output is None or reference is None or output.size != reference.size:
        return None
    if len(np.unique(reference)) < min(MIN_DISTINCT, max(3, reference.size // 2)):
        return None
    if not np.isfinite(output).all():
        return float("inf")
    return float(np.abs(output - reference).max() / np.abs(reference).max())


def compare(name, threads, options, scratch):
    """Measures all workers on one model; the result by worker, with "failure" where it did not run."""
    cpus = options.cpus[-threads:]
    workers, results, run_counts = {}, {}, {}

    def attempt(worker, action):
        try:
            return action()
        except (WorkerFailed, ValueError, OSError) as error:
            results[worker] = {"failure": str(error)}
            if worker in workers:
                workers.pop(worker).close()
            return None

    starts = {worker: [] for worker in options.workers}
    for start_number in range(options.starts):
        for worker, template in options.workers.items():
            if worker in results:
                continue
            command = command_line(template, options.models, name, threads, scratch / f"{worker}.dump")
            started = attempt(worker, lambda: Worker(command, cpus, scratch, worker))
            if started is None:
                continue
            starts[worker].append(started.start_ms)
            if start_number == options.starts - 1:
                workers[worker] = started
            else:
                started.close()
    for worker in list(workers):
        first = attempt(worker, lambda: workers[worker].run(1))
        if first is None:
            continue
        warm = attempt(worker, lambda: workers[worker].run(3)) if first[0] < options.seconds * 1e6 else first
        if warm:
            run_counts[worker] = max(1, min(MAX_RUNS_A_ROUND, int(options.seconds * 1e6 / max(min(warm), 0.05))))

    medians = {worker: [] for worker in workers}
    fastest = {}
    for round_number in range(options.rounds):
        order = list(workers)
        first = round_number % max(1, len(order))
        for worker in order[first:] + order[:first]:
            time.sleep(SETTLE_S)
            times = attempt(worker, lambda: workers[worker].run(run_counts[worker]))
            if times:
                medians[worker].append(median(times))
                fastest[worker] = min(min(times), fastest.get(worker, float("inf")))

    reference = workers[options.reference].first_output() if options.reference in workers else None
    for worker, process in workers.items():
        results[worker] = {
            "median_us": median(medians[worker]),
            "fastest_us": fastest[worker],
            "round_medians_us": medians[worker],
            "runs_a_round": run_counts[worker],
            "relative_error": relative_error(process.first_output(), reference),
            "start_ms": median(starts[worker]),
            "loaded_ms": process.loaded_ms,
            "peak_mib": process.peak_mib,
        }
        process.close()
    return {worker: results[worker] for worker in options.workers}


def best_peer(results, options, is_f32):
    """The fastest worker that is neither a subject nor of reduced precision."""

    def counts(worker, result):
        if "failure" in result or worker in options.subject or worker in options.reduced:
            return False
        error = result["relative_error"]
        return not is_f32 or error is None or error <= F32_ERROR_LIMIT

    peers = [worker for worker, result in results.items() if counts(worker, result)]
    return min(peers, key=lambda worker: results[worker]["median_us"], default=None)


def number(value, form="{:.1f}"):
    return "-" if value is None else form.format(value)


def time_text(microseconds):
    return f"{microseconds:.2f} us" if microseconds < 1000 else f"{microseconds / 1e3:.3f} ms"


def print_table(name, threads, results, best, gmac):
    print(f"\n### {name}, {threads} thread{'s' * (threads > 1)}\n")
    print("| worker | median | rounds' spread | ratio to best peer | GFLOP/s | relative error | start ms | peak MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for worker, r in results.items():
        if "failure" in r:
            print(f"| {worker} | failed: {r['failure'].replace('|', '/')} | | | | | | |")
            continue
        spread = (max(r["round_medians_us"]) / min(r["round_medians_us"]) - 1) * 100
        flops = 2e3 * gmac * 1e3 / r["median_us"] if gmac else None
        cells = [
            worker,
            time_text(r["median_us"]),
            f"{spread:.1f} %",
            number(r["ratio_to_best_peer"], "{:.3f}") + (" (best)" if worker == best else ""),
            number(flops),
            number(r["relative_error"], "{:.1e}"),
            number(r["start_ms"]),
            number(r["peak_mib"]),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def machine():
    cpu = next((x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    return {"cpu": cpu, "cores": os.cpu_count(), "load_average": os.getloadavg()[0]}


def parse_options():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n    ")[0],
        epilog=__doc__.split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", type=Path, metavar="MODELS_DIR", help="folder written by models.py")
    parser.add_argument("workers", nargs="+", metavar="NAME=COMMAND")
    parser.add_argument("--only", default="", help="models, separated by commas (default: all in MODELS_DIR)")
    parser.add_argument("--threads", default="1,2", help="thread counts, separated by commas (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=1.0, help="per worker and round (default: %(default)s)")
    parser.add_argument("--starts", type=int, default=1, help="starts of each worker; the median counts (default: 1)")
    parser.add_argument("--cpus", help="CPUs to use, separated by commas; n threads get the last n (default: all allowed)")
    parser.add_argument("--reference", default="ort", metavar="NAME", help="errors are against this one (default: ort)")
    parser.add_argument("--subject", action="append", default=[], metavar="NAME", help="under test: not a peer")
    parser.add_argument("--reduced", action="append", default=[], metavar="NAME", help="not f32: never the best peer")
    parser.add_argument("--json", type=Path, help="write everything measured there")
    options = parser.parse_intermixed_args()

    options.models = options.models.resolve()
    pairs = [worker.partition("=") for worker in options.workers]
    options.workers = {name: command for name, _, command in pairs}
    if len(options.workers) != len(pairs) or not all(n and c and "/" not in n for n, _, c in pairs):
        parser.error("every worker is NAME=COMMAND, with different names that are fit for a file")
    named = [*options.subject, *options.reduced]
    if unknown := [name for name in named if name not in options.workers]:
        parser.error(f"no worker is named {', '.join(unknown)}")
    found = sorted(p.stem for p in options.models.glob("*.onnx"))
    options.only = [n for n in options.only.split(",") if n] or found
    if missing := [n for n in options.only if n not in found]:
        parser.error(f"not in {options.models}: {', '.join(missing)}")
    if not options.only:
        parser.error(f"no models in {options.models}")
    options.threads = [int(t) for t in options.threads.split(",")]
    allowed = sorted(os.sched_getaffinity(0))
    options.cpus = [int(c) for c in options.cpus.split(",")] if options.cpus else allowed
    if max(options.threads) > len(options.cpus):
        parser.error(f"{max(options.threads)} threads need as many CPUs; there are {len(options.cpus)}")
    if min(options.threads) < 1 or min(options.rounds, options.starts) < 1 or options.seconds <= 0:
        parser.error("--threads, --rounds, --starts and --seconds must be positive")
    if not shutil.which("taskset"):
        parser.error("taskset is missing (package util-linux)")
    return options


def main():
    options = parse_options()
    record = options.models / "models.json"
    known = json.loads(record.read_text()) if record.exists() else {}
    report = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "workers": options.workers,
        "reference": options.reference,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "results": [],
    }
    if report["machine"]["load_average"] > 0.5:
        print(f"warning: the machine is busy (load {report['machine']['load_average']:.1f})", file=sys.stderr)
    if options.reference not in options.workers:
        print(f"warning: no worker is named {options.reference}, so no errors are reported", file=sys.stderr)
    must_run = {*options.subject, options.reference} & set(options.workers)
    failed = False
    for name in options.only:
        entry = known.get(name, {})
        for threads in options.threads:
            with tempfile.TemporaryDirectory() as scratch:
                results = compare(name, threads, options, Path(scratch))
            best = best_peer(results, options, entry.get("precision", "f32") == "f32")
            for result in results.values():
                if "failure" not in result:
                    result["ratio_to_best_peer"] = best and result["median_us"] / results[best]["median_us"]
            print_table(name, threads, results, best, entry.get("gmac"))
            failed |= any("failure" in results[worker] for worker in must_run)
            report["results"].append({"model": name, "threads": threads, "best_peer": best, "workers": results})
            if options.json:
                options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
