"""The Python interface, from its docstrings.

Usage: PYTHONPATH=build/python sphinx-build docs/api build/docs/python
"""
project = 'Stentor'
extensions = ['sphinx.ext.autodoc', 'sphinx.ext.napoleon']
exclude_patterns = ['Doxyfile', '*.py']
autodoc_default_options = {'members': True, 'imported-members': False, 'undoc-members': False}
autodoc_member_order = 'groupwise'
html_theme = 'alabaster'
