complete --keep-order --exclusive --command tw --arguments "(COMPLETE=fish tw -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
