// nth-call N FAULT COMMAND...: runs a command and has the N-th system call that changes something fail, of all its threads and children
// together. FAULT: KILL, or the number of an error. Says on file descriptor 3 how many there were, and which one was hit. Linux, x86-64.
//
// strace counts for each thread of its own, and so cannot stop a command of several threads at every place.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(const struct user_regs_struct *regs)
{
    switch (regs->orig_rax) {
    case SYS_open: return regs->rsi & O_CREAT ? "open" : NULL;
    case SYS_openat: return regs->rdx & O_CREAT ? "openat" : NULL;
    case SYS_write: return regs->rdi > 2 ? "write" : NULL;
    case SYS_pwrite64: return "pwrite64";
    case SYS_rename: return "rename";
    case SYS_renameat: return "renameat";
    case SYS_renameat2: return "renameat2";
    case SYS_link: return "link";
    case SYS_linkat: return "linkat";
    case SYS_unlink: return "unlink";
    case SYS_unlinkat: return "unlinkat";
    case SYS_mkdir: return "mkdir";
    case SYS_mkdirat: return "mkdirat";
    case SYS_rmdir: return "rmdir";
    case SYS_symlink: return "symlink";
    case SYS_symlinkat: return "symlinkat";
    case SYS_chmod: return "chmod";
    case SYS_fchmod: return "fchmod";
    case SYS_fchmodat: return "fchmodat";
    case SYS_ftruncate: return "ftruncate";
    case SYS_utimensat: return "utimensat";
    case SYS_fsync: return "fsync";
    case SYS_fdatasync: return "fdatasync";
    case SYS_syncfs: return "syncfs";
    case SYS_copy_file_range: return "copy_file_range";
    default: return NULL;
    }
}

// Which threads are inside a call, and which of these has to fail when it comes out.
enum { OUTSIDE, INSIDE, FAILING };
static char state[1 << 22];

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: nth-call N FAULT COMMAND...\n");
        return 2;
    }
    long wanted = atol(argv[1]), count = 0;
    long error = strcmp(argv[2], "KILL") ? atol(argv[2]) : 0;
    pid_t first = fork();
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    int status, code = 1;
    waitpid(first, &status, 0);
    ptrace(PTRACE_SETOPTIONS, first, 0,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC |
               PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, first, 0, 0);
    const char *hit = "none";
    for (;;) {
        pid_t task = waitpid(-1, &status, __WALL);
        if (task < 0)
            break;
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (task == first)
                code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            state[task] = OUTSIDE;
            continue;
        }
        int stop = WSTOPSIG(status), pass = 0;
        if (stop == (SIGTRAP | 0x80)) {
            struct user_regs_struct regs;
            if (ptrace(PTRACE_GETREGS, task, 0, &regs) == 0) {
                if (state[task] == OUTSIDE) {
                    state[task] = INSIDE;
                    const char *name = name_of(&regs);
                    if (name && ++count == wanted) {
                        hit = name;
                        if (!error) {
                            kill(task, SIGKILL);
                        } else {
                            regs.orig_rax = -1;
                            ptrace(PTRACE_SETREGS, task, 0, &regs);
                            state[task] = FAILING;
                        }
                    }
                } else {
                    if (state[task] == FAILING) {
                        regs.rax = -error;
                        ptrace(PTRACE_SETREGS, task, 0, &regs);
                    }
                    state[task] = OUTSIDE;
                }
            }
        } else if (status >> 16 || stop == SIGSTOP) {
            // A new thread or child, or a program that begins: nothing to hand on.
        } else {
            pass = stop;
        }
        ptrace(PTRACE_SYSCALL, task, 0, pass);
    }
    dprintf(3, "%ld %s\n", count, hit);
    return code;
}
