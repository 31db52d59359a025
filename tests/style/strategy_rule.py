#!/usr/bin/env python3
"""Strategies are independent: each includes common/, the public header of faces/, and no other one.

Usage: strategy_rule.py ROOT. Prints each violation as FILE:LINE: sentence; exits 1 if there is one.

The order is common <- faces <- strategies; each may include those before it;
all may include table.h. A strategy is a folder
in src/strategies or one file there. A strategy uses another one through a plan (stn_subplan in
plan/plan.h).
"""
import pathlib
import sys

from include_rule import INCLUDE, PUBLIC

SHARED = ['common', 'faces']
TABLE = 'table'  # declares every strategy
DOORS = {'faces': 'margins.h'}  # the only header that others may include


def folder_of(parts):
    """The strategy that a path relative to src/strategies belongs to; a single file is one too."""
    return parts[0] if len(parts) > 1 else pathlib.PurePath(parts[0]).stem


def violations(root):
    """A list of sentences, one for each forbidden #include."""
    root = pathlib.Path(root).resolve()
    home = root / 'src' / 'strategies'
    found = []
    for source in sorted(home.rglob('*.[ch]')):
        own = folder_of(source.relative_to(home).parts)
        text = source.read_text(encoding='utf-8')
        for match in INCLUDE.finditer(text):
            name = match.group(1)
            target = next((folder / name for folder in (source.parent, root / 'src') if (folder / name).is_file()), None)
            if name == PUBLIC or target is None or home not in target.resolve().parents:
                continue
            parts = target.resolve().relative_to(home).parts
            other, place = folder_of(parts), f'{source.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}'
            if other in (own, TABLE):
                continue
            if other not in SHARED:
                found.append(f'{place}: {own} includes "{name}" of the strategy {other}: use a plan of its own, by stn_subplan')
            elif own in SHARED and SHARED.index(other) > SHARED.index(own):
                found.append(f'{place}: {own} includes "{name}" of {other}, which is built on it')
            elif other in DOORS and parts[1:] != (DOORS[other],):
                found.append(f'{place}: {own} includes "{name}": the door of {other} is {DOORS[other]} alone')
    return found


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'no strategy includes another')
    sys.exit(1 if problems else 0)
