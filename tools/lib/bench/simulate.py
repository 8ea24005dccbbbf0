"""Traces through models of caches: which policy misses how much, and what it copies. Nothing is served, so it runs anywhere.

Settings of a model are those of podcache-simulate: "segments:small=0.2:ghost-ways=4".
"""
import concurrent.futures
import json
import os
import subprocess

from . import machine, places

TRACES = ("zipf-0.7", "zipf-0.9", "zipf-1.0", "zipf-1.1", "small", "churn", "scan", "loop", "writes", "drift", "ttl")
MODELS = ("fifo", "s3fifo", "segments-fifo", "segments-second", "segments")
BASE = "lru"


def model_options(text):
    """"segments:small=0.2:reset" → ["--model", "segments", "--small", "0.2", "--reset"]."""
    name, *settings = text.split(":")
    options = ["--model", name]
    for setting in settings:
        key, _, value = setting.partition("=")
        options += [f"--{key}", value] if value else [f"--{key}"]
    return options


def simulate(model, trace, arguments):
    command = [os.path.join(places.BIN, "podcache-simulate"), *model_options(model), "--memory", str(arguments.memory)]
    if arguments.trace:
        command += ["--trace", trace, "--format", arguments.format]
    else:
        command += ["--generate", trace, "--keys", str(arguments.keys), "--requests", str(arguments.requests),
                    "--skip", str(arguments.requests // 2)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout)


def run(arguments, say, print_table):
    traces = arguments.trace or arguments.generate or TRACES
    models = arguments.model or MODELS
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = {(m, t): pool.submit(simulate, m, t, arguments) for t in traces for m in (BASE, *models)}
        results = {key: job.result() for key, job in jobs.items()}
    lines = [("model", *traces, "mean", "copied by set bytes, at most")]
    lines.append((f"{BASE}: miss ratio", *(f"{results[BASE, t]['miss_ratio']:.4f}" for t in traces), "", ""))
    for model in models:
        changes = [results[model, t]["misses"] / max(results[BASE, t]["misses"], 1) - 1 for t in traces]
        copied = max(results[model, t]["copied_by_set_bytes"] for t in traces)
        lines.append((model, *(f"{c * 100:+.1f} %" for c in changes), f"{sum(changes) / len(changes) * 100:+.1f} %", f"{copied:.2f}"))
    print(f"\nMisses against {BASE} with as many bytes, {arguments.memory} MiB\n")
    print_table(lines)
    return {"machine": machine.description(), "results": [
        {"model": m, "trace": t} | report for (m, t), report in results.items()]}
