"""The command line of gpu_peers.py. Errors in it are reported before PyTorch is imported."""

import argparse
import os
import sys

from .case import SMALL_CASES, BadCase, Case, parse_case, usual_cases
from .comparison import (CannotCompare, case_of, compare, percent, print_comparison,
                         print_summary, require_one_card, warnings)
from .peers import NAMES, Peer, Skipped, find_peer, package_versions
from .results import BadFile, Results, print_table, provenance, read_rows

NOTHING_TO_MEASURE_ON = 3  # as in recto's benchmarks if there is no GPU


def main(description: str, arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["compare"]:
            return compare_files(arguments[1:])
        return measure(description, arguments)
    except (BadCase, BadFile) as error:
        print(f"gpu_peers: {error}", file=sys.stderr)
        return 2
    except CannotCompare as error:
        print(f"gpu_peers: {error}", file=sys.stderr)
        return 1


def compare_files(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="gpu_peers.py compare",
                                     description="Recto's results beside the peers'.")
    parser.add_argument("recto", help="what attention_benchmark wrote to --benchmark_out")
    parser.add_argument("peers", help="what gpu_peers.py wrote to --json")
    options = parser.parse_args(arguments)
    (ours, recto), (theirs, peers) = read_rows(options.recto), read_rows(options.peers)
    require_one_card(ours, theirs)
    for warning in warnings(ours, theirs):
        print(f"WARNING: {warning}")
    compared = compare(recto, peers)
    if not compared:
        raise CannotCompare(f"{options.recto} and {options.peers} have no case in common")
    print_comparison(compared)
    print_summary(compared, recto)
    return 0


def parse(description: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gpu_peers.py", description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu: checks peers that run there, at small shapes; measures nothing")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--case", action="append", metavar="NAME", help="may be given often")
    which.add_argument("--cases-of", metavar="FILE", help="those of recto's results")
    parser.add_argument("--peers", default=",".join(NAMES), metavar="LIST",
                        help="of %(default)s")
    parser.add_argument("--samples", type=int, default=31, help="of each peer (%(default)s)")
    parser.add_argument("--json", metavar="FILE", help="where results go")
    parser.add_argument("--list", action="store_true", help="prints peers and cases")
    options = parser.parse_args(arguments)
    options.peers = options.peers.split(",")
    for name in options.peers:
        if name not in NAMES:
            parser.error(f"--peers: {name!r}: expected some of {', '.join(NAMES)}")
    if not 1 <= options.samples <= 100_000:
        parser.error("--samples: expected 1 to 100000")
    if options.device == "cpu" and options.json:
        parser.error("--json: there are no results with --device cpu, which measures nothing")
    return options


def cases_of(options: argparse.Namespace) -> list[Case]:
    if options.case:
        return list(dict.fromkeys(parse_case(name) for name in options.case))
    if options.cases_of:
        rows = read_rows(options.cases_of)[1]
        cases = list(dict.fromkeys(case for row in rows if (case := case_of(row)) is not None))
        if not cases:
            raise BadFile(f"{options.cases_of}: expected a case for peers")
        return cases
    return list(SMALL_CASES) if options.device == "cpu" else usual_cases()


def measure(description: str, arguments: list[str]) -> int:
    options = parse(description, arguments)
    cases = cases_of(options)
    if options.device == "cpu":
        # Makes Triton run without a GPU; it is read when Triton is imported.
        os.environ["TRITON_INTERPRET"] = "1"
    if options.list:
        return print_lists(options.peers, cases)
    try:
        from . import card
    except ImportError as missing:
        print(f"no PyTorch: {missing}")
        return NOTHING_TO_MEASURE_ON
    if options.device == "cuda" and (why := card.why_no_gpu()):
        print(f"no GPU: {why}")
        return NOTHING_TO_MEASURE_ON
    return measure_all(options, cases, find_peers(options.peers))


def print_lists(names: list[str], cases: list[Case]) -> int:
    find_peers(names, tell=lambda peer: print(f"{peer.name}: {peer.what}"))
    print("\n" + "\n".join(case.name for case in cases))
    return 0


def find_peers(names: list[str], tell=lambda _: None) -> list[Peer]:
    """The peers that are installed; reports the others as missing."""
    found = []
    for name in names:
        try:
            found.append(find_peer(name))
            tell(found[-1])
        except Skipped as why:
            print(f"SKIPPED: {name}: {why}")
    return found


def measure_all(options: argparse.Namespace, cases: list[Case], peers: list[Peer]) -> int:
    """On a CPU peers are checked, and take no time."""
    from .session import Broken, Session

    results, session = None, Session("cpu", samples=1)
    if options.device == "cuda":
        results, timer = start_results()
        session = Session("cuda", options.samples, timer)
    outcomes = []
    for case in cases:
        print(f"\n{case.name}", flush=True)
        try:
            of_case = list(session.outcomes(case, peers))
        except Broken as error:
            print(f"gpu_peers: {error}", file=sys.stderr)
            return 1
        outcomes += of_case
        if results is None:
            print_errors(of_case)
            continue
        print_times(results, case, of_case)
        if options.json:
            results.write(options.json)
    return print_counts(outcomes)


def start_results():
    """And the timer that measured the card."""
    from .card import ColdTimer, card_rates, describe_card

    timer = ColdTimer()
    rates = card_rates(timer)
    results = Results(provenance() | describe_card() | {"packages": package_versions()} | rates)
    print(f"{results.context['gpu']}: copies {rates['copy_GB_per_s']:.0f} GB/s, multiplies "
          f"{rates['matrix_TFLOP_per_s']:.0f} TFLOP/s in bf16")
    return results, timer


def print_errors(outcomes) -> None:
    print_table(("", "error of limit", ""), [
        (each.peer, percent(each.error_to_limit) if each.state == "right" else "-", note(each))
        for each in outcomes])


def print_times(results: Results, case: Case, outcomes) -> None:
    """Prints a table, and puts the same into the results."""
    measured = [each for each in outcomes if each.state == "measured"]
    rows = []
    for each in outcomes:
        if each.state != "measured":
            results.leave_out(case, each.peer, each.state, each.why)
            rows.append((each.peer, *["-"] * 5, note(each)))
            continue
        row = results.add(case, each.peer, each.statistics, len(each.seconds))
        rows.append((each.peer, f"{row['median_us']:.2f}", percent(row["spread"]),
                     percent(row["fraction_of_copy_rate"]),
                     percent(row["fraction_of_matrix_rate"]),
                     f"{each.statistics.median / measured[0].statistics.median:.3f}", ""))
    first = f"x {measured[0].peer}" if measured else "x"
    print_table(("", "us", "spread", "of copy", "of matmul", first, ""), rows)


def note(outcome) -> str:
    if not outcome.why:
        return ""
    return f"{'SKIPPED' if outcome.state == 'skipped' else outcome.state.upper()}: {outcome.why}"


def print_counts(outcomes) -> int:
    counts = {state: sum(each.state == state for each in outcomes)
              for state in ("measured", "right", "wrong", "refused", "skipped")}
    print("\n" + ", ".join(f"{count} {state}" for state, count in counts.items() if count))
    return 1 if counts["wrong"] or not counts["measured"] + counts["right"] else 0
