#!/usr/bin/env python3
"""A strategy has a room of its own: it includes common/, the door of faces/, and nothing of another strategy.

Usage: strategy_rule.py ROOT. Prints each violation as FILE:LINE: sentence; exits 1 if there is one.

In order, each may include those before it: common <- faces <- the strategies; all may include table.h. A strategy is a folder of src/strategies, or one
file there. What one needs of another it gets as a plan of its own, through stn_subplan (plan/plan.h).
"""
import pathlib
import sys

from include_rule import INCLUDE, PUBLIC

SHARED = ['common', 'faces']
TABLE = 'table'  # declares every strategy
DOORS = {'faces': 'margins.h'}  # all that others may include of such a room


def room_of(parts):
    """The room of strategies that a path, from src/strategies on, belongs to; a file of its own is one."""
    return parts[0] if len(parts) > 1 else pathlib.PurePath(parts[0]).stem


def violations(root):
    """A list of sentences, one for each #include that a strategy may not have."""
    root = pathlib.Path(root).resolve()
    home = root / 'src' / 'strategies'
    found = []
    for source in sorted(home.rglob('*.[ch]')):
        own = room_of(source.relative_to(home).parts)
        text = source.read_text(encoding='utf-8')
        for match in INCLUDE.finditer(text):
            name = match.group(1)
            target = next((folder / name for folder in (source.parent, root / 'src') if (folder / name).is_file()), None)
            if name == PUBLIC or target is None or home not in target.resolve().parents:
                continue
            parts = target.resolve().relative_to(home).parts
            room, place = room_of(parts), f'{source.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}'
            if room in (own, TABLE):
                continue
            if room not in SHARED:
                found.append(f'{place}: {own} includes "{name}" of the strategy {room}: use a plan of its own, by stn_subplan')
            elif own in SHARED and SHARED.index(room) > SHARED.index(own):
                found.append(f'{place}: {own} includes "{name}" of {room}, which is built on it')
            elif room in DOORS and parts[1:] != (DOORS[room],):
                found.append(f'{place}: {own} includes "{name}": the door of {room} is {DOORS[room]} alone')
    return found


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'no strategy includes another')
    sys.exit(1 if problems else 0)
