"""Order of the steps of a resize, from two clocks on one machine: the API server's audit log and a Recorder's samples.

A sample proves something about the moments between its `began` and `ended`; so "already so at T" is shown by samples
that began after T, and "not yet so at T" by samples that ended before.
"""


def shrink_problems(samples, patched_at, new_limit, new_cgroup):
    """What contradicts: the cache was down to its new limit, and its memory released, before the pod was resized."""
    problems = []
    for each in samples:
        if each.began >= patched_at and each.limit > new_limit:
            problems.append(f"{each.began - patched_at:.3f} s after the pod's resize the cache's limit was still {each.limit}")
        if each.ended < patched_at and min(each.cgroup_before, each.cgroup_after) <= new_cgroup:
            problems.append(f"{patched_at - each.ended:.3f} s before the pod's resize its cgroup was already lowered")
    before = [each for each in samples if each.ended < patched_at]
    if not before:
        problems.append("no sample before the pod's resize")
    elif before[-1].resident >= new_cgroup:
        problems.append(f"resident memory {before[-1].resident} was not below {new_cgroup} when the pod was resized")
    return problems


def grow_problems(samples, patched_at, old_limit):
    """What contradicts: the pod was resized first, the cache's limit rose afterwards."""
    return [f"{patched_at - each.ended:.3f} s before the pod's resize the cache's limit was already {each.limit}"
            for each in samples if each.ended < patched_at and each.limit > old_limit]
