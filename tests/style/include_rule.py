#!/usr/bin/env python3
"""Data flows one way: a component includes only itself, those before it, and the public header.

Usage: include_rule.py ROOT. Prints each violation as FILE:LINE: sentence; exits 1 if there is one.
"""
import pathlib
import re
import sys

COMPONENTS = ['base', 'problem', 'io', 'render', 'compile', 'cache', 'launch', 'host', 'context', 'plan', 'tune',
         'strategies', 'kinds', 'team', 'cli']
# Every component may include the public header, which declares stn_status.
PUBLIC = 'stentor.h'
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*"([^"]+)"', re.MULTILINE)


def component_folder(root, component):
    """The folder of a component: in src/, except for the cache, which is beside it."""
    return root / 'cache' if component == 'cache' else root / 'src' / component


def target_component(root, source, name):
    """The component that #include "name" in file `source` refers to; None if there is none."""
    for folder in (source.parent, root / 'src', root):
        found = folder / name
        if not found.is_file():
            continue
        parts = found.resolve().relative_to(root).parts
        if parts[0] == 'src' and len(parts) > 2:
            return parts[1]
        return parts[0]
    # A header that the build makes: its path still names its component.
    first = name.split('/')[0]
    return first if '/' in name and first in COMPONENTS else None


def violations(root):
    """A list of sentences, one for each #include of a later component."""
    root = pathlib.Path(root).resolve()
    found = []
    for folder in sorted((root / 'src').iterdir()):
        if folder.is_dir() and folder.name not in COMPONENTS:
            found.append(f'src/{folder.name}: a component without a place in the order: add it to {pathlib.Path(__file__).name}')
    for level, component in enumerate(COMPONENTS):
        for source in sorted(component_folder(root, component).rglob('*.[ch]')):
            text = source.read_text(encoding='utf-8')
            for match in INCLUDE.finditer(text):
                name = match.group(1)
                place = f'{source.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}'
                target = target_component(root, source, name)
                if name == PUBLIC or target == component:
                    continue
                if target is None and '/' not in name and not (source.parent / name).exists():
                    continue  # next to the source, written by the build
                if target not in COMPONENTS:
                    found.append(f'{place}: component {component} includes "{name}", which is in no component')
                elif COMPONENTS.index(target) > level:
                    found.append(f'{place}: component {component} includes "{name}" of the later component {target}')
    return found


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'every include goes with the flow')
    sys.exit(1 if problems else 0)
