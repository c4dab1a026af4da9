"""The sync form, written from the async one, but for ``runtime.py``."""
