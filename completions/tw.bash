# tw completion for bash. Asks tw for everything; runs nothing of the line.
# For an alias of tw: complete -o nosort -o bashdefault -F _clap_complete_tw ALIAS
_clap_complete_tw() {
    local IFS=$' \t\n' record told='' line
    # The line, and not COMP_WORDS: bash takes a word apart at each colon.
    if [[ -n ${COMP_LINE-} ]]; then
        line=${COMP_LINE:0:${COMP_POINT-${#COMP_LINE}}}
    else
        line=${COMP_WORDS[*]:0:COMP_CWORD+1}
    fi
    COMPREPLY=()
    {
        IFS= read -r -d '' told
        while IFS= read -r -d '' record; do
            COMPREPLY+=("$record")
        done
    } < <(TW_COMPLETE=bash command tw -- "$line" "$2" 2>/dev/null)
    # Names are quoted already.
    [[ -z $told ]] || compopt -o ${told// / -o } 2>/dev/null
}
# Before 4.4 bash cannot keep the order.
complete -o nosort -o bashdefault -F _clap_complete_tw tw 2>/dev/null ||
    complete -o bashdefault -F _clap_complete_tw tw
