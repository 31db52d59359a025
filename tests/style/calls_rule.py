#!/usr/bin/env python3
"""Calls go down, and global symbols carry the name of their component.

Usage: calls_rule.py ROOT ARCHIVE... The archives are read with nm. Prints each violation as one
sentence; exits 1 if there is one.

1. No object needs a symbol that an object of a later component defines (order: include_rule.py).
2. No circle: files that need each other's symbols, directly or through others.
3. A function that a header of a component declares is defined in that component.
4. Every global symbol begins with stn_, or with the name of its component or strategy.

That the installed libraries show no symbol without the prefix stn_ is tested in
tests/install/test_symbols.py.
"""
import pathlib
import re
import subprocess
import sys

from include_rule import COMPONENTS

# Table through which an earlier component reaches a later one -> the only file that may need it.
UPWARD = {'stn_kinds': 'src/plan/subplan.c'}
FOLDERS = ['src', 'cache']
MEMBER = re.compile(r'^.*?\[(.*)\]: (\S+) (\S)(?: |$)')
DECLARED = re.compile(r'^(?!return\b|typedef\b|static\b)[A-Za-z_][\w *]*?\b(stn_\w+)\([^;{}]*\);', re.MULTILINE)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)


def component_of(path):
    """The component of a source file, by its path from the root."""
    parts = pathlib.PurePath(path).parts
    return parts[0] if parts[0] != 'src' else parts[1]


def prefix_of(path):
    """The prefix of internal symbols of a source file: its strategy, or else its component."""
    parts = pathlib.PurePath(path).with_suffix('').parts
    return (parts[2] if parts[1] == 'strategies' else component_of(path)) + '_'


def source_of(member, sources):
    """The source file of an object in an archive: meson writes a path's slashes as underscores."""
    if member.endswith('kernel_templates_templates.c.o'):
        return 'src/render/templates.c'  # the embedded texts, which the build writes
    name = pathlib.PurePath(member).name.removesuffix('.o')
    whole = [source for source in sources if source.replace('/', '_') == name]
    if whole:
        return whole[0]
    ends = [source for source in sources if source.replace('/', '_').endswith('_' + name)]
    near = [source for source in ends if str(pathlib.PurePath(source).parent) in member]
    return (near or ends or [None])[0]


def symbols(listing, sources):
    """source -> global symbols that it defines, and source -> those that it needs, from nm."""
    defines, needs = {}, {}
    for line in listing.splitlines():
        found = MEMBER.match(line)
        if not found:
            continue
        member, symbol, kind = found.groups()
        source = source_of(member, sources)
        if source and kind == 'U':
            needs.setdefault(source, set()).add(symbol)
        elif source and kind.isupper() and not symbol.startswith('__'):  # the sanitizers' own
            defines.setdefault(source, set()).add(symbol)
    return defines, needs


def graph_of(defines, needs):
    """source -> {source that it needs: the symbols}."""
    where = {symbol: source for source, all_of in defines.items() for symbol in all_of}
    graph = {source: {} for source in set(defines) | set(needs)}
    for source, all_of in needs.items():
        for symbol in all_of:
            to = where.get(symbol)
            if to and to != source and UPWARD.get(symbol) != source:
                graph[source].setdefault(to, set()).add(symbol)
    return graph


def upward(graph):
    """References from an earlier component to a later one."""
    found = []
    for source, all_of in sorted(graph.items()):
        for to, names in sorted(all_of.items()):
            if COMPONENTS.index(component_of(to)) > COMPONENTS.index(component_of(source)):
                found.append(f'{source}: needs {", ".join(sorted(names))} of {to}, of the later component {component_of(to)}')
    return found


def circles(graph):
    """The strongly connected components of more than one file, by Tarjan's algorithm."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for to in graph.get(node, ()):
            if to not in number:
                visit(to)
            if to in stack:
                low[node] = min(low[node], low[to])
        if low[node] == number[node]:
            at = stack.index(node)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in number:
            visit(node)
    return [f'{each[0]}: calls lead in a circle through {", ".join(each[1:])}' for each in sorted(found)]


def misplaced(root, defines):
    """Functions that a header of one component declares and another component defines."""
    where = {symbol: source for source, all_of in defines.items() for symbol in all_of}
    found = []
    for folder in FOLDERS:
        for header in sorted((root / folder).rglob('*.h')):
            path = str(header.relative_to(root))
            for name in DECLARED.findall(COMMENT.sub('', header.read_text(encoding='utf-8'))):
                source = where.get(name)
                if source and component_of(source) != component_of(path):
                    found.append(f'{path}: declares {name}, which {source} defines')
    return found


def unprefixed(defines):
    """Global symbols that begin neither with stn_ nor with their component's or strategy's name."""
    return [f'{source}: defines {symbol}, which begins neither with stn_ nor with {prefix_of(source)}'
            for source, symbols_of in sorted(defines.items()) for symbol in sorted(symbols_of)
            if not symbol.startswith(('stn_', prefix_of(source)))]


def violations(root, listing):
    """A list of sentences. listing: what nm -A --format=posix says of the archives."""
    root = pathlib.Path(root).resolve()
    sources = [str(path.relative_to(root)) for folder in FOLDERS for path in sorted((root / folder).rglob('*.c'))]
    defines, needs = symbols(listing, sources)
    graph = graph_of(defines, needs)
    return upward(graph) + circles(graph) + misplaced(root, defines) + unprefixed(defines)


def listing_of(archives):
    return subprocess.run(['nm', '-A', '--format=posix', *archives], capture_output=True, text=True, check=True).stdout


if __name__ == '__main__':
    problems = violations(sys.argv[1], listing_of(sys.argv[2:]))
    print('\n'.join(problems) or 'every call goes down')
    sys.exit(1 if problems else 0)
