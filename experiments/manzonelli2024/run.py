"""Membership attacks on topic models: the tables and figures of Manzonelli, Zhang and Vadhan, run again.

    python experiments/manzonelli2024/run.py                # all; what a CSV beside this file holds is not run again
    python experiments/manzonelli2024/run.py table1 figures
    python experiments/manzonelli2024/run.py --scale .1     # fewer shadows, to try it

Finished shadow models are kept in DISCREET_CACHE (a folder for temporary files otherwise). Runs are seeded.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import figures
import pipeline
import simple
import spread
import tables

PARTS = {
    "table1": tables.table1,
    "simple": simple.run,
    "table2": tables.table2,
    "spread": spread.run,
    "figures": figures.draw_all,
    "pipeline": pipeline.run,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the shadows")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        PARTS[name](options.scale)


if __name__ == "__main__":
    main()
