"""podcache-bench as a child, pinned."""
import json
import os
import subprocess

from .places import BIN

PROGRAM = os.path.join(BIN, "podcache-bench")


class WrongReplies(RuntimeError):
    pass


def run(command, server, cpus, errors_allowed=False, **options):
    """One run; its report. False, None options are left out, True ones are flags."""
    arguments = [PROGRAM, command, "--address", server.address]
    for name, value in options.items():
        if value is None or value is False:
            continue
        arguments.append("--" + name.replace("_", "-"))
        if value is not True:
            arguments.append(str(value))
    done = subprocess.run(arguments, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{done.stderr.strip()} ({server.kind.name})")
    report = json.loads(done.stdout)
    if report["errors"] and server.kind.has_store and not errors_allowed:
        raise WrongReplies(f"{server.kind.name}: {report['errors']} wrong replies: {report.get('complaint')}")
    return report
