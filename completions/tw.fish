# tw completion for fish. Asks tw for everything; runs nothing of the line.
function __tw_complete
    TW_COMPLETE=fish command tw -- (commandline --current-process --cut-at-cursor | string collect --no-trim-newlines) 2>/dev/null | string split0
end
complete --command tw --erase
complete --command tw --no-files --keep-order --arguments '(__tw_complete)'
