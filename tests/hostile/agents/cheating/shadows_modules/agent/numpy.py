raise SystemExit("shadowed")
