"""python3 -m demo [--once] [--existing] [--down]: called by tools/demo, which has built everything."""
import argparse
import sys

from . import story
from .places import ExistingCluster, OwnCluster


def main():
    parser = argparse.ArgumentParser(prog="demo")
    for flag in ("--once", "--existing", "--down"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    place = ExistingCluster() if arguments.existing else OwnCluster()
    if arguments.down:
        place.remove()
        print("   removed")
        return 0
    try:
        story.tell(place)
    except BaseException:
        if arguments.once:
            print("   cleaning up after the failure", file=sys.stderr)
            place.remove()
        raise
    if arguments.once:
        place.remove()
        print("\ndemo: every step did what it should; all removed")
    else:
        place.leave()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, TimeoutError, OSError) as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted; tools/demo --down removes what is there")
