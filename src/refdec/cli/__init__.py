"""The command line: one file per command, and the modules they share."""
