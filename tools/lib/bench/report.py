"""Results for people: tables and a plot."""


def rows(results):
    yield ("workload", "ours", "user", "sys", "peer", "user", "sys", "ratio", "spread", "stub", "io", "ceiling", "req/recv")
    for r in results:
        def us(name, digits=3):
            return f"{r[name]:.{digits}f}" if r.get(name) is not None else "-"
        receives = "/".join("-" if r[f"{who}_requests_per_receive"] is None else f"{r[f'{who}_requests_per_receive']:.1f}"
                            for who in ("ours", "peer"))
        ceiling = f"{r['peer_us'] / r['stub_us']:.1f}x" if r.get("stub_us") else "-"
        yield (r["workload"], us("ours_us"), us("ours_user_us"), us("ours_system_us"), us("peer_us"), us("peer_user_us"),
               us("peer_system_us"), f"{r['ratio']:.2f}x", f"{r['spread'] * 100:.0f} %", us("stub_us"), us("io_us"),
               ceiling, receives)


def print_table(lines):
    lines = [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def print_comparison(report):
    about = report["machine"]
    print(f"\n{about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, load {about['load_average']}")
    print(f"{about['ours']} at {about['revision']} against {about['peer']}; {about['server_threads']} threads on cores {about['server_cpus']}, client on "
          f"{about['client_cpus']}, {about['transport']}, {about['congestion_control']}, {about['keys']} keys, "
          f"-m {about['memory_mb']}")
    print("Server CPU µs per operation; ratio = peer : ours, median of "
          f"{about['pairs']} pairs; stub: the least that can answer; io: ours without its engine;\n"
          "ceiling = peer : stub; requests per receiving system call, ours/peer\n")
    print_table(rows(report["results"]))


def plot(report, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    results = report["results"]
    figure, (costs, ratios) = pyplot.subplots(1, 2, figsize=(14, 5), width_ratios=(2, 1))
    bars = (("peer", "#8a8a8a"), ("ours", "#1f77b4"), ("io", "#7fb6dd"), ("stub", "#d0d0d0"))
    for i, (who, colour) in enumerate(bars):
        places = [x + (i - 1.5) * 0.2 for x in range(len(results))]
        user = [r.get(f"{who}_user_us", 0) for r in results]
        system = [r.get(f"{who}_system_us", 0) for r in results]
        costs.bar(places, user, 0.18, color=colour, label=f"{who}: user")
        costs.bar(places, system, 0.18, bottom=user, color=colour, hatch="///", alpha=0.6, label=f"{who}: system")
    costs.set_yscale("log")
    costs.set_ylabel("server CPU µs per operation")
    costs.legend(fontsize="small", ncol=2)
    places = range(len(results))
    ratios.bar(places, [r["ratio"] for r in results], 0.5, color="#1f77b4")
    for x, r in zip(places, results):
        ratios.vlines(x, min(r["ratios"]), max(r["ratios"]), color="black")
        if r.get("stub_us"):
            ratios.hlines(r["peer_us"] / r["stub_us"], x - 0.3, x + 0.3, color="#d62728")
    ratios.set_ylabel("peer : ours; red: peer : stub")
    for axis in (costs, ratios):
        axis.set_xticks(list(places), [r["workload"] for r in results], rotation=30, ha="right")
    about = report["machine"]
    figure.suptitle(f"{about['ours']} / {about['peer']}: {about['cpu']}, {about['transport']}, {about['keys']} keys", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
