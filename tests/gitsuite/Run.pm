package Run;

# Runs commands with a time limit and keeps a log of them. Plain git is asked with nothing of the test's environment, no
# optional locks and no network, so that asking changes nothing.

use strict;
use warnings;
use Time::HiRes ();
use Tree;

our $deadline = 0;    # when the state under check has used up its time
our $dir;             # where to run
our $scratch;         # where output goes meanwhile
our @log;

sub clear_environment {
    my ($trash, $home) = @_;
    my %kept = map { $_ => 1 } qw(GIT_EXEC_PATH GIT_TEMPLATE_DIR GITPERLLIB);
    delete $ENV{$_} for grep { /^GIT_|^(?:EDITOR|VISUAL|PAGER|XDG_CONFIG_HOME)$/ && !$kept{$_} } keys %ENV;
    @ENV{qw(HOME GIT_CONFIG_NOSYSTEM GIT_NO_LAZY_FETCH GIT_OPTIONAL_LOCKS TW_NO_BACKGROUND GIT_TERMINAL_PROMPT)} =
        ($home, 1, 1, 0, 1, 0);
    @ENV{qw(GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL)} = qw(rig r@r rig r@r);
    $ENV{GIT_EDITOR} = ':';
    ($ENV{GIT_CEILING_DIRECTORIES} = $trash) =~ s{/[^/]*\z}{};
    # What the home directory says to git counts, but the home itself must not be a working tree.
    for my $name ('.gitconfig') {
        my $config = Tree::bytes("$trash/$name") // next;
        open my $out, '>:raw', "$home/$name" or die "$home: $!";
        print $out $config;
        close $out;
    }
}

# Exit code (or 'timeout', or 'signal N'), standard output, standard error.
sub run {
    my (@command) = @_;
    my $input = ref $command[-1] ? ${ pop @command } : undef;
    if (defined $input) {
        open my $in, '>:raw', "$scratch/in" or die "$scratch: $!";
        print $in $input;
        close $in;
    }
    my $child = fork // die "fork: $!";
    if (!$child) {
        setpgrp;
        open STDIN, '<', defined $input ? "$scratch/in" : '/dev/null';
        open STDOUT, '>', "$scratch/out";
        open STDERR, '>', "$scratch/err";
        chdir $dir and exec { $command[0] } @command;
        print STDERR "cannot run $command[0]: $!";
        require POSIX;
        POSIX::_exit(126);
    }
    my $code;
    my $left = $deadline - Time::HiRes::time();
    eval {
        local $SIG{ALRM} = sub { die "late\n" };
        Time::HiRes::alarm($left > 0.1 ? $left : 0.1);
        waitpid $child, 0;
        $code = $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
        Time::HiRes::alarm(0);
        1;
    } or do {
        kill 'KILL', -$child, $child;
        waitpid $child, 0;
        $code = 'timeout';
    };
    my ($out, $err) = map { Tree::bytes("$scratch/$_") // '' } qw(out err);
    push @log, "\$ @command\n" . substr($out, 0, 4000) . substr($err, 0, 4000) . "=> $code\n";
    return ($code, $out, $err);
}

# A hook that says what has changed may say anything; what counts is the disk.
sub git { return run('git', '-c', 'core.fsmonitor=false', @_) }

# For git commands that change something: no hooks, no signatures, no gc of its own accord.
sub git_change {
    return run('git', '-c', 'core.hooksPath=/dev/null', '-c', 'commit.gpgSign=false', '-c', 'gc.auto=0',
        '-c', 'maintenance.auto=false', @_);
}

1;
