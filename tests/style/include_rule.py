#!/usr/bin/env python3
"""Layering: a room includes only itself, rooms before it in the order, and the public header.

Usage: include_rule.py ROOT. Prints each violation as FILE:LINE: sentence; exits 1 if there is one.
"""
import pathlib
import re
import sys

ROOMS = ['base', 'problem', 'plan', 'render', 'compile', 'cache', 'launch', 'host', 'context', 'strategies', 'tune',
         'team', 'io', 'cli']
# It declares stn_status, so all rooms may include it.
PUBLIC = 'stentor.h'
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include\s*"([^"]+)"', re.MULTILINE)


def room_folder(root, room):
    """The folder of a room: under src/, except the cache."""
    return root / 'cache' if room == 'cache' else root / 'src' / room


def target_room(root, source, name):
    """The room of the file that `source` includes as "name"; None if there is no such file."""
    for folder in (source.parent, root / 'src', root):
        found = folder / name
        if not found.is_file():
            continue
        parts = found.resolve().relative_to(root).parts
        if parts[0] == 'src' and len(parts) > 2:
            return parts[1]
        return parts[0]
    # A generated header: its path names its room.
    first = name.split('/')[0]
    return first if '/' in name and first in ROOMS else None


def violations(root):
    """A list of sentences, one for each #include of a later room."""
    root = pathlib.Path(root).resolve()
    found = []
    for folder in sorted((root / 'src').iterdir()):
        if folder.is_dir() and folder.name not in ROOMS:
            found.append(f'src/{folder.name}: a room without a place in the order: add it to {pathlib.Path(__file__).name}')
    for level, room in enumerate(ROOMS):
        for source in sorted(room_folder(root, room).rglob('*.[ch]')):
            text = source.read_text(encoding='utf-8')
            for match in INCLUDE.finditer(text):
                name = match.group(1)
                place = f'{source.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}'
                target = target_room(root, source, name)
                if name == PUBLIC or target == room:
                    continue
                if target is None and '/' not in name and not (source.parent / name).exists():
                    continue  # generated next to the source
                if target not in ROOMS:
                    found.append(f'{place}: room {room} includes "{name}", which is in no room')
                elif ROOMS.index(target) > level:
                    found.append(f'{place}: room {room} includes "{name}" of the later room {target}')
    return found


if __name__ == '__main__':
    problems = violations(sys.argv[1])
    print('\n'.join(problems) or 'every include goes with the flow')
    sys.exit(1 if problems else 0)
