"""The sync form, written from the async one by scripts/make_sync.py, but for ``runtime.py``."""
