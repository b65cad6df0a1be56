# Stands where a test of git's suite looks for its library: loads the real one, and after each step has every repository
# below the trash directory checked. The check works on copies; the test goes on with what it made.

. "$GITSUITE_T/test-lib.sh"

eval "gitsuite_$(declare -f test_finish_)"
test_finish_ () {
	gitsuite_test_finish_ "$@"
	env -u GIT_DIR -u GIT_WORK_TREE "$GITSUITE_CHECK" "$TRASH_DIRECTORY" "$TEST_NAME.$test_count" \
		</dev/null >>"$GITSUITE_RESULTS/check.err" 2>&1
	return 0
}
