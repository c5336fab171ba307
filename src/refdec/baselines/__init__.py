"""Competing systems: what the paper compared itself with, and what a user would try first. One file per system.

They run on the same language models, data and metrics as refdec, each with the settings of its own paper. Known by name
in `named_methods.py`; nothing here knows experiments or commands.
"""
