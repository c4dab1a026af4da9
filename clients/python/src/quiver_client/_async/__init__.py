"""The async form. The sync one is written from it, by scripts/make_sync.py."""
