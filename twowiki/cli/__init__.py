"""One module a command: `HELP`, `add_arguments(parser)` and `run(args) -> exit status`."""
