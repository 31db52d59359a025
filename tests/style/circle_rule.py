#!/usr/bin/env python3
"""No include cycles: a header and the .c file of the same name are one unit.

Usage: circle_rule.py ROOT. Prints each cycle as one sentence; exits 1 if there is one.
"""
import pathlib
import sys

from include_rule import INCLUDE, PUBLIC

FOLDERS = ['src', 'cache']


def unit_of(root, path):
    """A file's unit: its path without the suffix."""
    return str(path.resolve().relative_to(root).with_suffix(''))


def included(root, source, name):
    """The included file, or None if it is outside of these folders."""
    for folder in (source.parent, root / 'src', root):
        if (folder / name).is_file():
            return folder / name
    return None


def graph_of(root):
    """unit -> the units that it includes."""
    graph = {}
    for folder in FOLDERS:
        for source in sorted((root / folder).rglob('*.[ch]')):
            unit = unit_of(root, source)
            to = graph.setdefault(unit, set())
            for name in INCLUDE.findall(source.read_text(encoding='utf-8')):
                found = None if name == PUBLIC else included(root, source, name)
                if found and unit_of(root, found) != unit:
                    to.add(unit_of(root, found))
    return graph


def circles(graph):
    """A shortest cycle through each unit that is on one; no two cycles share a unit."""
    found, seen = [], set()
    for start in sorted(graph):
        before, queue = {start: None}, [start]
        for unit in queue:
            for to in sorted(graph.get(unit, ())):
                if to == start:
                    way = [start]
                    while unit != start:
                        way.insert(1, unit)
                        unit = before[unit]
                    if not seen & set(way):
                        found.append(way)
                    seen |= set(way)
                    queue.clear()
                    break
                if to not in before:
                    before[to] = unit
                    queue.append(to)
            if not queue:
                break
    return found


def violations(root):
    """A list of sentences, one for each cycle."""
    root = pathlib.Path(root).resolve()
    return [f'{way[0]}: includes lead in a circle, {" -> ".join(way + way[:1])}: move what they share down into one of '
            f'them or into a header of its own' for way in circles(graph_of(root))]


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'no includes lead in a circle')
    sys.exit(1 if problems else 0)
