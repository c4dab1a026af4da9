"""The async form. The sync one is written from it, by `UPDATE=1 npm test -- test/unit/clients/python`."""
